// Verifies a certificate with nothing but what Node.js brings, following docs/certificates.md.
// node verify.mjs FILE PUBLIC_KEY: prints the payload and exits 0, or exits 1.
import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";

// RFC 8785 for what a certificate holds: objects, strings, integers and null.
const canonical = (v) =>
  v !== null && typeof v === "object" && !Array.isArray(v)
    ? "{" + Object.keys(v).sort().map((k) => JSON.stringify(k) + ":" + canonical(v[k])).join(",") + "}"
    : JSON.stringify(v);

const [file, key] = process.argv.slice(2);
const raw = readFileSync(file);
const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(raw);
const { key_id, payload, signature, ...rest } = JSON.parse(text);
const x = Buffer.from(key, "base64url");
const s = Buffer.from(signature, "base64url");
const ok =
  canonical({ key_id, payload, signature }) === text && Object.keys(rest).length === 0 &&
  key_id === "key_" + createHash("sha256").update(x).digest("hex").slice(0, 32) &&
  s.toString("base64url") === signature && s.length === 64 &&
  payload.type === "dev.superpipeline.question.certificate.v1" && payload.meaning === "approve" &&
  verify(
    null,
    Buffer.from("dev.superpipeline.question.certificate.v1\n" + canonical(payload)),
    createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: key }, format: "jwk" }),
    s,
  );
if (!ok) process.exit(1);
console.log(JSON.stringify(payload));
