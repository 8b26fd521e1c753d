// Section 8, "ask + reconcile", by section 7, "Outgoing-webhook event": asks and does not wait. A webhook tells how the question
// ended, and correlation_id which it was. Listens on the port it is given, asks once it is told to on standard input, and prints
// the event.
import { createServer } from "node:http";
import { once } from "node:events";
import { ask } from "./question.mjs";

const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  response.end();
  const event = JSON.parse(body);
  if (event.correlation_id !== "rel-2.4") return;
  console.log(JSON.stringify(event));
  process.exit();
});
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1");
await once(server, "listening");
console.log(server.address().port);

await once(process.stdin, "data");
await ask(process.env.QUESTION_ROOM, {
  prompt: "Which environment?",
  options: [{ value: "staging", label: "Staging" }, { value: "prod", label: "Production", style: "primary" }],
  correlation_id: "rel-2.4",
  data: { pipeline: "deploy" },
});
