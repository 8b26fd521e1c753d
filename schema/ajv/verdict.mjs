// A second opinion on question.v2 documents, by ajv. It reads one base64 document a line and answers one JSON line each:
// {"valid":…,"errors":[[instancePath,keyword],…]}, or {"json":false} where JavaScript cannot read the document at all.
//
// Usage: node verdict.mjs SCHEMA
import { readFileSync } from "node:fs";
import { once } from "node:events";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const ajv = new Ajv2020({
  allErrors: true,
  strict: true,
  // The schema repeats a property under "then" without its type, and requires there what is declared above.
  strictTypes: false,
  strictRequired: false,
});
addFormats(ajv, { mode: "full", formats: ["date-time"], keywords: false });
ajv.addKeyword({
  keyword: "x-uniqueBy",
  type: "object",
  schemaType: "array",
  errors: "full",
  compile: uniqueBy,
});
const validate = ajv.compile(JSON.parse(readFileSync(process.argv[2], "utf8")));

function uniqueBy(paths) {
  return function check(data, { instancePath }) {
    check.errors = [];
    for (const path of paths) {
      const seen = new Set();
      for (const [pointer, value] of values(data, path.split("."), instancePath)) {
        const key = canonical(value);
        if (seen.has(key)) {
          check.errors.push({ keyword: "x-uniqueBy", instancePath: pointer, params: { path } });
        }
        seen.add(key);
      }
    }
    return check.errors.length === 0;
  };
}

function* values(data, parts, pointer) {
  if (parts.length === 0) {
    yield [pointer, data];
    return;
  }
  const [part, ...rest] = parts;
  const every = part.endsWith("[]");
  const name = every ? part.slice(0, -2) : part;
  if (data === null || typeof data !== "object" || Array.isArray(data) || !Object.hasOwn(data, name)) return;
  const at = `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  if (!every) {
    yield* values(data[name], rest, at);
  } else if (Array.isArray(data[name])) {
    for (const [i, item] of data[name].entries()) yield* values(item, rest, `${at}/${i}`);
  }
}

// Equal values give equal text: property order does not count, and JavaScript has already made 1.0 of 1.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)}}`;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function verdict(base64) {
  let document;
  try {
    document = JSON.parse(utf8.decode(Buffer.from(base64, "base64")));
  } catch {
    return { json: false };
  }
  const valid = validate(document);
  return { valid, errors: (validate.errors ?? []).map((e) => [e.instancePath, e.keyword]) };
}

let rest = "";
process.stdin.setEncoding("latin1");
for await (const chunk of process.stdin) {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  if (lines.length === 0) continue;
  const answers = lines.map((line) => JSON.stringify(verdict(line)) + "\n").join("");
  if (!process.stdout.write(answers)) await once(process.stdout, "drain");
}
