/** Shared ids make one story: a person deploys a cluster with a runner of their own. */
import type { Static, TSchema } from "typebox";

export interface Example {
  readonly schema: TSchema;
  readonly value: unknown;
}

/** An example, held against its schema by the compiler here and by Ajv in the test. */
export const example = <T extends TSchema>(schema: T, value: Static<T>): Example => ({
  schema,
  value,
});

export const ids = {
  zone: "019aa5c1-4e00-7c11-9d52-6f1f0e3b7a01",
  configuration: "019aa5c1-5b10-7e42-8a6d-0c9d4b2f6e02",
  plan: "019aa5c2-0310-7d0a-b3c4-9a1e5d7f8b03",
  job: "019aa5c2-91f4-7a6e-9b1d-2c3d4e5f6a04",
  worker: "019aa5bf-7a20-7b8f-8c3e-1d2e3f4a5b05",
  identity: "019aa5c0-1c30-7f9a-a4d5-3e4f5a6b7c06",
  externalId: "5f0c7d1e-2b3a-4c4d-8e5f-6a7b8c9d0e07",
  connection: "019aa5c0-5e60-7c2d-a7e8-61728394a513",
  notification: "019aa5c0-7f80-7d3e-b8f9-72839405b614",
  delivery: "019aa5c3-0a10-7e4f-89a0-8394a5b6c715",
  schedule: "019aa5c0-6f70-7d3e-b8f9-72839405b614",
  set: "019aa5c0-2d40-7a0b-95c6-4f5a6b7c8d10",
  user: "019aa5bd-3c20-7d1e-9f4a-6b7c8d9e0f11",
  invitation: "019aa5bd-8e30-7e2f-a05b-7c8d9e0f1a12",
  login: "019aa5be-0d40-7a1b-8c2d-4e5f6a7b8c08",
  deviceCode: "c0ffee00-1d2e-4f3a-9b4c-5d6e7f8a9b09",
} as const;

/** A digest of the right shape. */
export const sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/** Seconds after the first of the story's events. */
export const at = (seconds: number): string =>
  new Date(Date.UTC(2026, 10, 21, 9, 30) + seconds * 1000).toISOString();
