import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { trustTerraform, type TrustOf } from "../../../control-plane/domain/trust-terraform.ts";

const configuration = (name: string) => ({
  configuration_id: `01890a5d-ac96-774b-bcce-b302099a80${name.length}0`,
  zone_id: "01890a5d-ac96-774b-bcce-b302099a8090",
  subjects: {
    plan: `team:p:zone:z:configuration:${name}:phase:plan`,
    apply: `team:p:zone:z:configuration:${name}:phase:apply`,
  },
});
const users = [
  [],
  [configuration("network")],
  [configuration("dns"), configuration('"quotes" \\ and %{if} ${jsonencode(1)}')],
];
const pool = "projects/1/locations/global/workloadIdentityPools/pool/providers/windlass";
const arn = (name: string) => `arn:aws:iam::123456789012:role/${name}`;
const kinds = [
  {
    provider: "aws_web_identity",
    audience: "sts.amazonaws.com",
    fields: { role_arn: arn("team/deploy"), plan_role_arn: arn("plan"), session_tags: true },
  },
  { provider: "azure", audience: "a", fields: { client_id: "c", plan_client_id: "d" } },
  {
    provider: "gcp",
    audience: `//iam.googleapis.com/${pool}`,
    fields: { workload_identity_provider: pool, plan_service_account: "a@p.example" },
  },
  {
    provider: "gcp",
    audience: "other",
    fields: { workload_identity_provider: pool, service_account: "a@p.example" },
  },
  {
    provider: "vault",
    audience: "https://vault.example.com",
    fields: { role: "deploy", plan_role: "plan", mount: "team/jwt", namespace: "platform" },
  },
] as const;

const own = {
  plan: "team:p:identity:live:phase:plan",
  apply: "team:p:identity:live:phase:apply",
};

/** Each kind with and without a principal of plans, with each subject and number of users. */
const all: TrustOf[] = kinds.flatMap((kind) =>
  users.flatMap((trusted) =>
    ["configuration", "zone", "identity"].flatMap((subject) =>
      [kind.fields, withoutPlans(kind.fields)].map((fields) => ({
        ...kind,
        fields,
        id: "01890a5d-ac96-774b-bcce-b302099a8000",
        name: 'of "all"',
        space_id: "01890a5d-ac96-774b-bcce-b302099a8057",
        issuer: "https://windlass.example.com/issuer",
        subject,
        own: subject === "identity" ? own : null,
        trusted,
        isCut: trusted.length === 1,
      })),
    ),
  ),
);

function withoutPlans(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !name.startsWith("plan_")));
}

it("is what terraform fmt would write, so that terraform can read it", async () => {
  const directory = await mkdtemp(join(tmpdir(), "trust-"));
  try {
    for (const [index, one] of all.entries())
      writeFileSync(join(directory, `${index}.tf`), trustTerraform(one));
    const { status, stdout } = spawnSync("terraform", ["fmt", "-check", "-diff", directory], {
      encoding: "utf8",
    });
    expect([status, stdout]).toEqual([0, ""]);
  } finally {
    await rm(directory, { recursive: true });
  }
});

it("lets the ordinary principal act in the phase apply alone if plans have their own", () => {
  const of = (fields: object) =>
    trustTerraform({ ...all[6]!, ...kinds[4], fields: fields as TrustOf["fields"] });
  const { fields } = kinds[4];
  expect(of(fields).match(/phase +=.*/g)).toEqual([
    expect.stringMatching(/"apply"$/),
    expect.stringMatching(/"plan"$/),
  ]);
  expect(of(withoutPlans(fields)).match(/phase +=.*/g)).toEqual([
    expect.stringMatching(/"plan,apply"$/),
  ]);
});

describe("what is printed before a configuration has the identity", () => {
  const printed = (kind: (typeof kinds)[number], subject: string, fields = kind.fields as object) =>
    trustTerraform({
      ...all[0]!,
      ...kind,
      fields: fields as TrustOf["fields"],
      subject,
      own: subject === "identity" ? own : null,
    });
  const [aws, azure, gcp, , vault] = kinds;

  it("admits no job if subjects name configurations or zones", () => {
    for (const subject of ["configuration", "zone"]) {
      expect(printed(aws, subject).match(/values += .*/g)).toEqual([
        expect.stringContaining('"sts.amazonaws.com"'),
        expect.stringMatching(/= \["none"\]$/),
        expect.stringContaining('"sts.amazonaws.com"'),
        expect.stringMatching(/= \["none"\]$/),
      ]);
      const ofGcp = printed(gcp, subject);
      const claim = subject === "zone" ? "sub" : "configuration_id";
      expect(ofGcp).toContain(String.raw` && assertion.${claim} in [\"none\"]"`);
      for (const one of [ofGcp, printed(azure, subject)])
        expect(one.match(/for_each += .*/g)).toEqual(
          Array.from({ length: 2 }, () => expect.stringMatching(/= toset\(\[\]\)$/)),
        );
      expect(printed(vault, subject).match(/_id += "none"/g)).toHaveLength(2);
    }
  });

  it("admits exactly the subjects of the identity otherwise", () => {
    const ofGcp = printed(gcp, "identity", withoutPlans(gcp.fields));
    const list = String.raw`[\"${own.plan}\", \"${own.apply}\"]`;
    const attribute = "attribute.identity_01890a5dac96774bbcceb302099a8000";
    expect(ofGcp).toContain(` && assertion.sub in ${list}"`);
    expect(ofGcp).toContain(String.raw`= "assertion.sub in ${list} ? assertion.phase : \"none\""`);
    expect(ofGcp).toContain(`/${attribute}/\${each.value}"`);
    expect(ofGcp).not.toContain("space_phase");
    const ofVault = printed(vault, "identity", withoutPlans(vault.fields));
    expect(ofVault).toContain(`= "${own.plan},${own.apply}"`);
    expect(printed(vault, "identity").match(/bound_subject +=.*/g)).toHaveLength(2);
    for (const kind of [aws, azure])
      for (const one of Object.values(own))
        expect(printed(kind, "identity")).toContain(`["${one}"]`);
  });

  it("warns of too many subjects, and of an issuer that the provider refuses", () => {
    const printedAt = (kind: (typeof kinds)[number], issuer: string, count: number) =>
      trustTerraform({
        ...all[0]!,
        ...kind,
        issuer,
        subject: "configuration",
        trusted: Array.from({ length: count }, (_, index) => configuration(`network-${index}`)),
      }).match(/(?<=# WARNING: ).*?(?=[:,])/g);
    const issuer = "https://windlass.example.com";
    const own = (text: string) => Array.from({ length: 2 }, () => text);
    expect(printedAt(aws, issuer, 20)).toBeNull();
    expect(printedAt(aws, issuer, 40)).toEqual(own("AWS takes 2048 characters of this policy"));
    expect(printedAt(azure, issuer, 20)).toBeNull();
    expect(printedAt(azure, issuer, 21)).toEqual(own("Azure takes 20 of them"));
    expect(printedAt(aws, `${issuer}:8443`, 1)).toEqual(["the issuer must have no port"]);
    expect(printedAt(azure, `${issuer}:8443`, 1)).toBeNull();
    expect(printedAt(azure, "http://x", 1)).toEqual(["the issuer must have https"]);
    expect(printedAt(vault, "http://x:8080", 1)).toBeNull();
  });

  it("warns where all ids would be longer than a condition of Google may be", () => {
    const printedFor = (count: number) =>
      trustTerraform({
        ...all[0]!,
        ...gcp,
        subject: "configuration",
        trusted: Array.from({ length: count }, (_, index) => ({
          ...configuration("network"),
          configuration_id: `01890a5d-ac96-774b-bcce-b30209${String(index).padStart(6, "0")}`,
        })),
      });
    expect(printedFor(90)).toMatch(/b30209000089\\"\]"$/m);
    expect(printedFor(90)).not.toContain("WARNING");
    const long = printedFor(110);
    expect(long).toContain("WARNING: a condition has at most 4096 characters");
    expect(long).toMatch(/attribute_condition = "assertion.space_id == [^ ]+"$/m);
    expect(long).toContain('"01890a5d-ac96-774b-bcce-b30209000109:apply"');
  });
});
