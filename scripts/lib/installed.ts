/**
 * Not bundled: packages that read files of their own or load native code, large ones that few
 * processes load, and those that the code finds by their names at run time.
 */
export const installed = [
  "@aws-sdk/client-s3",
  "@aws-sdk/client-sts",
  "@dagrejs/dagre",
  "@fastify/swagger-ui",
  "ansi-sequence-parser",
  "better-sqlite3",
  "nodemailer",
  "openid-client",
  "openpgp",
  "pg",
  "pino-pretty",
  "string-width",
  "tar",
];

/** What client and agent find at run time: all that the npm package does not bundle. */
export const installedForNpm = ["string-width"];
