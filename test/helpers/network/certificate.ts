/** A self-signed certificate for the loopback in files, as in a network with its own authority. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Certificate {
  /** The file that `SSL_CERT_FILE` may name. */
  readonly file: string;
  readonly tls: { readonly key: Buffer; readonly cert: Buffer };
}

/** Creates a certificate for 127.0.0.1 and these names in the directory. */
export function makeCertificate(folder: string, ...names: string[]): Certificate {
  const [file, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const alternatives = ["IP:127.0.0.1", ...names.map((name) => `DNS:${name}`)].join(",");
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const rest = ["-days", "2", "-subj", "/CN=windlass.test"];
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      ...kind,
      "-keyout",
      key,
      "-out",
      file,
      ...rest,
      "-addext",
      `subjectAltName=${alternatives}`,
    ],
    { stdio: "ignore" },
  );
  return { file, tls: { key: readFileSync(key), cert: readFileSync(file) } };
}
