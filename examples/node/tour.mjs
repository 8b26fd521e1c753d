// What else the document promises, as checks: each throws where a server does other than the document says.
import assert from "node:assert/strict";
import { answer, ask, cancel, fetchOne, listByState, pending, wait } from "./question.mjs";

const room = process.env.QUESTION_ROOM;
const responder = process.env.QUESTION_TARGET; // whose token QUESTION_RESPONDER_TOKEN is
const fields = [
  "id", "kind", "prompt", "context", "options", "text_input", "responder_scope", "target_user_id", "resolution_policy", "state",
  "answer", "expires_at", "resolved_at", "correlation_id", "reply_to", "data", "created_at",
];
const has = (question) => fields.forEach((name) => assert.ok(name in question, `${name} is missing`));
const refused = async (promise, why) =>
  assert.rejects(promise, (error) => error.status >= 400 && error.status < 500, why);

// Section 3: the body of section 7, and the same field names on create, fetch and wait.
const body = {
  prompt: "Which environment?", context: "Release 2.4", responder_scope: "room",
  options: [{ value: "staging", label: "Staging" }, { value: "prod", label: "Production", style: "primary" }],
  ttl: 1800, correlation_id: "rel-2.4", reply_to: "thread-7", data: { pipeline: "deploy", deep: { list: [1, 2.5, null] } },
};
const created = await ask(room, body);
for (const question of [created, await fetchOne(created.id), await wait(created.id, 0)]) {
  has(question);
  assert.equal(question.id, created.id);
  assert.equal(question.kind, "question");
  assert.equal(question.prompt, body.prompt);
  assert.equal(question.context, body.context);
  assert.equal(question.state, "pending");
  assert.equal(question.answer, null);
  assert.equal(question.resolved_at, null);
  assert.equal(question.resolution_policy, "first");
  assert.equal(question.target_user_id, null);
  assert.equal(question.text_input, null);
  assert.deepEqual([question.correlation_id, question.reply_to, question.data], [body.correlation_id, body.reply_to, body.data]);
  assert.deepEqual(question.options.map((o) => [o.value, o.label, o.primary, o.destructive]), [["staging", "Staging", false, false], ["prod", "Production", true, false]]);
  assert.equal((Date.parse(question.expires_at) - Date.parse(question.created_at)) / 1000, 1800);
}

// Section 7: pending for a person, answered once; a later answer gets the resolved question, which is no error.
assert.ok((await pending()).some((q) => q.id === created.id));
const won = await answer(created.id, { value: "prod" });
const late = await answer(created.id, { value: "staging" });
for (const question of [won, late, await fetchOne(created.id), await wait(created.id)]) {
  has(question);
  assert.equal(question.state, "answered");
  assert.deepEqual([question.answer.value, question.answer.label, question.answer.text], ["prod", "Production", null]);
  assert.equal(question.answer.responder.id, responder);
  assert.equal(question.resolved_at, question.answer.answered_at);
}
assert.ok(!(await pending()).some((q) => q.id === created.id));
assert.equal((await cancel(created.id)).state, "answered", "terminal states are immutable");
await refused(answer(created.id, { value: "nowhere" }), "an unknown option is a hard error");

// Section 3: bare strings; options left out; at most four, at least two, unique.
const strings = await ask(room, { prompt: "Go on?", options: ["yes", "no"] });
assert.deepEqual(strings.options.map((o) => [o.value, o.label]), [["yes", "yes"], ["no", "no"]]);
const binary = await ask(room, { prompt: "Deploy?" });
assert.deepEqual(binary.options.map((o) => o.value), ["approve", "deny"]);
for (const options of [["one"], ["a", "b", "c", "d", "e"], ["same", "same"]]) {
  await refused(ask(room, { prompt: "Which?", options }), `options ${options}`);
}
await refused(ask(room, { prompt: "Who?", responder_scope: "direct" }), "direct without a target");
await refused(ask(room, { prompt: "Who?", responder_scope: "direct", target_user_id: "@nobody:elsewhere.example" }), "a target who is not in the room");

// Section 3, styles: three roles, with the legacy booleans as shorthand; the order is kept.
const styled = await ask(room, {
  prompt: "And now?",
  options: [{ value: "deploy", label: "Deploy", primary: true }, { value: "rollback", label: "Roll back", destructive: true }, { value: "wait", label: "Wait" }],
});
assert.deepEqual(styled.options.map((o) => o.style ?? "default"), ["primary", "danger", "default"]);

// Section 3, typed answers: alone, or beside options; capped.
const typed = await ask(room, { prompt: "Why are we holding the release?", text_input: { placeholder: "Type a reason", max_length: 60 } });
assert.equal(typed.text_input.max_length, 60);
await refused(answer(typed.id, { text: "x".repeat(61) }), "a text over max_length");
await refused(answer(typed.id, { text: "a", value: "b" }), "exactly one");
await refused(answer(binary.id, { text: "a" }), "text that is not invited");
const why = (await answer(typed.id, { text: "Flaky tests" })).answer;
assert.deepEqual([why.value, why.label, why.text], [null, null, "Flaky tests"]);
const both = await ask(room, { prompt: "Ship it?", options: ["ship", "hold"], text_input: { placeholder: "or why not" } });
assert.equal((await answer(both.id, { text: "After lunch" })).answer.text, "After lunch");

// Section 7: ttl is clamped. Section 5: cancelled; listed by state; the three outcomes are distinct.
const clamped = await ask(room, { prompt: "Soon?", ttl: 1 });
assert.ok(Date.parse(clamped.expires_at) > Date.parse(clamped.created_at) + 1000);
for (const q of [strings, binary, styled, clamped]) {
  const gone = await cancel(q.id);
  assert.deepEqual([gone.state, gone.answer], ["cancelled", null]);
}
assert.equal((await answer(binary.id, { value: "approve" })).state, "cancelled", "no endpoint resurrects it");
assert.equal((await wait(binary.id)).state, "cancelled");
const ids = async (state) => (await listByState(state)).map((q) => q.id);
assert.ok((await ids("cancelled")).includes(strings.id));
assert.ok((await ids("answered")).includes(typed.id));
assert.ok(!(await ids("pending")).includes(created.id));
console.log("as the document says");
