/** Which webhooks each kind of host signed, by the headers that it sends. */
import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { eventKinds, type Kind } from "../../../control-plane/code-hosts/kinds.ts";

const secret = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtMTIzNA==";
const body = Buffer.from(`{"repository":{"id":12,"uuid":"{a-b}"},"project":{"id":12}}`);
const hex = createHmac("sha256", secret).update(body).digest("hex");
const now = Math.floor(Date.now() / 1000);
const standard = (time: number, key: string | Buffer = Buffer.from(secret.slice(6), "base64")) => ({
  "webhook-id": "msg_1",
  "webhook-timestamp": String(time),
  "webhook-signature": `v1,AAAA v1,${createHmac("sha256", key).update(`msg_1.${time}.`).update(body).digest("base64")}`,
});

const rows: readonly [Kind, Record<string, string>, boolean][] = [
  ["github", { "x-hub-signature-256": `sha256=${hex}` }, true],
  ["github_app", { "x-hub-signature-256": `sha256=${hex}` }, true],
  ["github", { "x-hub-signature-256": "sha256=" }, false],
  ["github", { "x-hub-signature": `sha256=${hex}` }, false],
  ["github", { "x-gitlab-token": secret }, false],
  ["gitlab", { "x-gitlab-token": secret }, true],
  ["gitlab", { "x-gitlab-token": "" }, false],
  ["gitlab", { "x-gitlab-token": `${secret}x` }, false],
  ["gitlab", standard(now), true],
  ["gitlab", standard(now - 600), false],
  ["gitlab", standard(now, "another"), false],
  ["gitlab", { "x-hub-signature-256": `sha256=${hex}` }, false],
  ["bitbucket", { "x-hub-signature": `sha256=${hex}` }, true],
  ["bitbucket", { "x-hub-signature": `sha256=${hex.toUpperCase()}` }, false],
  ["forgejo", { "x-forgejo-signature": hex }, true],
  ["forgejo", { "x-gitea-signature": hex }, true],
  ["forgejo", { "x-gitea-signature": "" }, false],
  ["forgejo", { "x-hub-signature-256": `sha256=${hex}` }, false],
];

it.each(rows)("%s with %o: %s", (kind, headers, isSigned) => {
  expect(eventKinds[kind].isSigned(headers, body, ["old", secret])).toBe(isSigned);
  expect(eventKinds[kind].isSigned(headers, Buffer.from("{}"), [secret])).toBe(
    isSigned && "x-gitlab-token" in headers,
  );
});

it.each<[Kind, object, object | undefined]>([
  ["github", { after: "c1", sender: { id: 7 } }, { commit: "c1", account: "7" }],
  ["github", { action: "labeled", sender: { id: 7 } }, undefined],
  ["gitlab", { after: "c1", user_id: 7 }, { commit: "c1", account: "7" }],
  [
    "gitlab",
    { user: { id: 7 }, object_attributes: { oldrev: "c0", last_commit: { id: "c1" } } },
    { commit: "c1", account: "7" },
  ],
  ["gitlab", { user: { id: 7 }, object_attributes: { last_commit: { id: "c1" } } }, undefined],
  [
    "bitbucket",
    { actor: { uuid: "{7}" }, push: { changes: [{ new: { target: { hash: "c1" } } }] } },
    { commit: "c1", account: "{7}" },
  ],
  ["bitbucket", { actor: { uuid: "{7}" }, push: { changes: [{ new: null }] } }, undefined],
])("%s: who pushed, of %j", (kind, payload, push) => {
  expect(eventKinds[kind].pushIn?.(payload)).toEqual(push);
});
