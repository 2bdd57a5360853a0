/** Credentials and webhook secrets, sealed as the environment of a definition. */
import { seal, unseal } from "../../domain/snapshot.ts";
import type { Context } from "../context.ts";

export interface WebhookSecrets {
  readonly webhook_secret?: string | undefined;
  /** The one before, and until when it holds, in epoch milliseconds. */
  readonly old_webhook_secret?: string | undefined;
  readonly old_until?: string | undefined;
}

export interface SealedSecrets extends WebhookSecrets {
  /** Of a notification rule. */
  readonly url?: string | undefined;
  readonly credential?: string | undefined;
  readonly clone_credential?: string | undefined;
  readonly app_id?: string | undefined;
  readonly private_key?: string | undefined;
  readonly installation_id?: string | undefined;
}

export function sealSecrets(context: Pick<Context, "box">, id: string, secrets: SealedSecrets) {
  const environment = Object.fromEntries(
    Object.entries(secrets)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, { value: String(value), sensitive: true }]),
  );
  return JSON.stringify(seal({ environment }, context.box("variables"), id));
}

/** Throws UnreadableError if they were sealed with another key. */
export function openSecrets(
  context: Pick<Context, "box">,
  { id, secrets }: { readonly id: string; readonly secrets: string },
): SealedSecrets {
  const stored = JSON.parse(secrets) as Parameters<typeof unseal>[0];
  const { environment = {} } = unseal(stored, context.box("variables"), id);
  return Object.fromEntries(
    Object.entries(environment).map(([name, one]) => [
      name,
      typeof one === "string" ? one : one.value,
    ]),
  );
}

/** Seals a new webhook secret. The one before holds until this time, in epoch milliseconds. */
export function sealRotated(
  context: Pick<Context, "box">,
  row: { readonly id: string; readonly secrets: string },
  webhook_secret: string,
  until: number,
): string {
  const { webhook_secret: old, ...rest } = openSecrets(context, row);
  const rotated = { webhook_secret, old_webhook_secret: old, old_until: String(until) };
  return sealSecrets(context, row.id, { ...rest, ...rotated });
}

/** The webhook secrets that hold now. */
export function webhookSecrets(
  { webhook_secret, old_webhook_secret, old_until }: WebhookSecrets,
  now: number,
): string[] {
  const isOverlap = old_webhook_secret !== undefined && Number(old_until) > now;
  return [webhook_secret, isOverlap ? old_webhook_secret : undefined].filter(
    (one) => one !== undefined,
  );
}
