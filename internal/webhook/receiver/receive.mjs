// A receiver as its author would write it from docs/webhooks.md, by the Standard Webhooks library of JavaScript. It
// answers 204 to an event that it can verify and 401 to any other, and writes one JSON line for each:
// {"id":…,"event":…} with the event as it was verified, or {"id":…,"refused":…}.
//
// Usage: node receive.mjs SECRET. The first line that it writes is its URL.
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.argv[2]);

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const id = request.headers["webhook-id"];
  let line, status;
  try {
    line = { id, event: webhook.verify(Buffer.concat(chunks), request.headers) };
    status = 204;
  } catch (refused) {
    line = { id, refused: refused.message };
    status = 401;
  }
  console.log(JSON.stringify(line));
  response.writeHead(status).end();
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/`));
process.stdin.on("end", () => process.exit()).resume(); // it ends with whoever started it
