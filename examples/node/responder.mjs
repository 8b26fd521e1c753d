// Section 7, responder side: answers the question with a prompt, by VALUE or with --text TEXT.
//
//   node responder.mjs PROMPT VALUE
//   node responder.mjs PROMPT --text TEXT
import { answer, pending } from "./question.mjs";

const [prompt, how, text] = process.argv.slice(2);
for (;;) {
  const question = (await pending()).find((q) => q.prompt === prompt);
  if (!question) {
    await new Promise((again) => setTimeout(again, 200));
    continue;
  }
  const resolved = await answer(question.id, how === "--text" ? { text } : { value: how });
  console.log(resolved.state, resolved.answer.value ?? resolved.answer.text);
  break;
}
