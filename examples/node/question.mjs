// A client of The Question Protocol 1.1, written from the text of the document alone: plain fetch, no dependencies. The
// sections are those of the document.

const { QUESTION_SERVER, QUESTION_TOKEN, QUESTION_RESPONDER_TOKEN } = process.env;

async function call(token, method, path, body) {
  const response = await fetch(QUESTION_SERVER + path, {
    method,
    headers: { Authorization: `Bearer ${token}`, ...(body && { "Content-Type": "application/json" }) },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) {
    throw Object.assign(new Error(`${method} ${path}: ${response.status} ${text}`), { status: response.status });
  }
  return JSON.parse(text);
}

const asAsker = (method, path, body) => call(QUESTION_TOKEN, method, `/api/agent${path}`, body);
const asResponder = (method, path, body) => call(QUESTION_RESPONDER_TOKEN, method, `/api/questions${path}`, body);
const of = (id) => `/questions/${encodeURIComponent(id)}`;

// The document does not say what a list is wrapped in: it is the one array that comes.
const list = (body) => (Array.isArray(body) ? body : Object.values(body).find(Array.isArray));

// Section 7, asker side.
export const ask = (room, question) => asAsker("POST", `/rooms/${encodeURIComponent(room)}/questions`, question);
export const wait = (id, timeout = 20) => asAsker("GET", `${of(id)}/wait?timeout=${timeout}`);
export const fetchOne = (id) => asAsker("GET", of(id));
export const listByState = async (state) => list(await asAsker("GET", `/questions?state=${state}`));
export const cancel = (id) => asAsker("POST", `${of(id)}/cancel`);

// Section 8: one call that blocks until the question is resolved, and hides the re-poll.
export async function settled(id) {
  for (;;) {
    const question = await wait(id);
    if (question.state !== "pending") return question;
  }
}

// Section 7, responder side: exactly one of value and text.
export const pending = async () => list(await asResponder("GET", "/pending"));
export const answer = (id, chosen) => asResponder("POST", `/${encodeURIComponent(id)}/answer`, chosen);
