// Section 12, "Deploy approval": a question with two options for one person. Ask, wait, act on the value.
import { ask, settled } from "./question.mjs";

const { id } = await ask(process.env.QUESTION_ROOM, {
  prompt: "Deploy v1.4.0 to production?",
  context: "Build #4821",
  responder_scope: "direct",
  target_user_id: process.env.QUESTION_TARGET,
  options: [
    { value: "approve", label: "Approve", style: "primary" },
    { value: "deny", label: "Deny", style: "danger" },
  ],
  ttl: 3600,
  correlation_id: "deploy-42",
  data: { commit: "abc123" },
});
const question = await settled(id);

// "They never answered" and "they said no" are different outcomes (section 4).
if (question.state !== "answered") {
  console.log(`not deployed: ${question.state}`);
} else if (question.answer.value === "approve") {
  console.log(`deploying ${question.data.commit}, approved by ${question.answer.responder.display_name}`);
} else {
  console.log(`not deployed: ${question.answer.responder.display_name} said ${question.answer.label}`);
}
