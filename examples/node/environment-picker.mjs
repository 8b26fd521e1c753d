// Section 12, "Environment picker": a question with four options, which anybody in the room may answer.
import { ask, settled } from "./question.mjs";

const { id } = await ask(process.env.QUESTION_ROOM, {
  prompt: "Which environment?",
  context: "Release 2.4",
  responder_scope: "room",
  options: [
    { value: "dev", label: "Development" },
    { value: "staging", label: "Staging" },
    { value: "prod", label: "Production", style: "primary" },
    { value: "cancel", label: "Cancel" },
  ],
  ttl: 1800,
});
const { state, answer } = await settled(id);
console.log(state === "answered" ? answer.value : state);
