import { expect, test } from "vitest";
import { kindsOf } from "../../../agent/doctor/identity-checks.ts";

test.each([
  ["https://windlass.example.com", ["aws", "aws_web_identity", "azure", "gcp", "vault"], []],
  [
    "https://windlass.example.com:8443",
    ["aws", "azure", "gcp", "vault"],
    [
      "not aws_web_identity: the issuer must have no port (WINDLASS_ISSUER_URL of the control plane)",
    ],
  ],
  [
    "http://windlass.example.com",
    ["aws", "vault"],
    [
      "not aws_web_identity, azure, gcp: the issuer must have https (WINDLASS_ISSUER_URL of the control plane)",
    ],
  ],
])("with the issuer %s", (issuer, working, lacks) => {
  expect(kindsOf(issuer)).toEqual({ working, lacks });
});
