// A person in an encrypted room, by the library that Element is made of and its Rust crypto. It writes one JSON line for each
// message of every room: {"id", "room", "sender", "encrypted", "content"}, or {"id", "room", "sender", "unreadable"} with the
// reason; a message whose key is late is written again. Each line that it reads is a reply to send in a thread:
// {"room", "thread", "text"}.
//
// Usage: node person.mjs HOMESERVER USER_ID DEVICE_ID [PASSWORD], with the access token in the environment. With the password it
// excludes all devices that their owners have not signed, and signs its own. It writes {"ready": true} once it follows the rooms.

// Node.js has this from version 22 on.
Promise.withResolvers ??= function () {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
};

// What the library logs must not stand between the lines.
for (const level of ["trace", "debug", "info", "log", "warn"]) console[level] = console.error;

const sdk = await import("matrix-js-sdk");
const { OnlySignedDevicesIsolationMode } = await import("matrix-js-sdk/lib/crypto-api/index.js");
const { createInterface } = await import("node:readline");

const [baseUrl, userId, deviceId, password] = process.argv.slice(2);
const client = sdk.createClient({ baseUrl, userId, deviceId, accessToken: process.env.ACCESS_TOKEN });
await client.initRustCrypto({ useIndexedDB: false });
if (password) {
  const crypto = client.getCrypto();
  crypto.setDeviceIsolationMode(new OnlySignedDevicesIsolationMode());
  await crypto.bootstrapCrossSigning({
    authUploadDeviceSigningKeys: (upload) =>
      upload(null).catch((refused) =>
        upload({ type: "m.login.password", session: refused.data.session, identifier: { type: "m.id.user", user: userId }, password }),
      ),
  });
}

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const tell = (event) => {
  const about = { id: event.getId(), room: event.getRoomId(), sender: event.getSender() };
  if (event.isDecryptionFailure()) say({ ...about, unreadable: event.decryptionFailureReason });
  else if (event.getType() === "m.room.message") say({ ...about, encrypted: event.isEncrypted(), content: event.getOriginalContent() });
};
client.on("event", (event) => {
  if (!event.isEncrypted()) tell(event); // the others are told of once they are decrypted, or cannot be
});
client.on("Event.decrypted", tell);
client.on("sync", (state, before) => {
  if (state === "PREPARED" && before !== state) say({ ready: true });
});
await client.startClient({ threadSupport: true });

const replies = createInterface({ input: process.stdin });
replies.on("line", (line) => {
  const { room, thread, text } = JSON.parse(line);
  client.sendMessage(room, thread, { msgtype: "m.text", body: text }).catch((failed) => {
    console.error(failed);
    process.exit(1);
  });
});
replies.on("close", () => process.exit()); // it ends with whoever started it
