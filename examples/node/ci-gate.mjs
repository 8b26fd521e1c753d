// Section 12, "CI gate", by section 9: prints the value that was chosen; the exit code tells answered (0) from expired (3) and
// cancelled (4). With a number of seconds it waits no longer.
import { ask, settled } from "./question.mjs";

const [sha, ttl] = process.argv.slice(2);
const { id } = await ask(process.env.QUESTION_ROOM, { prompt: `Ship ${sha}?`, options: ["yes", "no"], ...(ttl && { ttl: Number(ttl) }) });
console.error(id);
const { state, answer } = await settled(id);
if (state === "answered") console.log(answer.value);
process.exit({ answered: 0, expired: 3, cancelled: 4 }[state]);
