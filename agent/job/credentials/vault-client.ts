/** The few calls of Vault and OpenBao that a job's token needs. The address is the user's choice. */
import { connectorOf, request, type Dispatcher } from "../../../common/http-client.ts";
import { dispatcherOf } from "../../../common/http-proxies.ts";
import type { Network } from "../../../common/network.ts";
import { day, kibibyte, second } from "../../../common/units.ts";
import { textWithin } from "../../../protocol/transport.ts";
import { plainConnectorFor } from "../../machine/network.ts";
import type { Expiring } from "./renewed-session.ts";

export interface VaultPlace {
  readonly address: string;
  /** Where the JWT auth method is mounted. */
  readonly mount: string;
  readonly namespace: string | undefined;
  /** The authorities that its certificate must lead to, in PEM; undefined: those of the machine. */
  readonly ca: string | undefined;
}

export interface VaultToken extends Expiring {
  readonly token: string;
  readonly isRenewable: boolean;
}

/** Vault refuses the call: another try would fail too. */
export class VaultRefusedError extends Error {
  override readonly name = "VaultRefusedError";
}

/** For one call with its response. */
const callLimit = 15 * second;
/** A login returns a few KiB, even with many policies. */
const answerLimit = 64 * kibibyte;
const quotedLimit = 500;
/** Of a token that Vault gives no end. */
const endless = 20 * day;

export class VaultClient {
  readonly #place: VaultPlace;
  readonly #dispatcher: Dispatcher;

  constructor(place: VaultPlace, network: Network) {
    const { ca } = place;
    const tls = ca === undefined ? {} : { ca };
    this.#place = place;
    const connector = (timeout: number) => connectorOf({ timeout, ...tls });
    this.#dispatcher = dispatcherOf(network, plainConnectorFor(place.address) ?? connector, tls);
  }

  async login(role: string, jwt: string, signal: AbortSignal): Promise<VaultToken> {
    const path = `auth/${this.#place.mount}/login`;
    return tokenIn(await this.#call(path, { body: { role, jwt }, signal }));
  }

  /** Returns the same token with its new end. */
  async renew(token: string, signal: AbortSignal): Promise<VaultToken> {
    const answer = await this.#call("auth/token/renew-self", { token, body: {}, signal });
    return { ...tokenIn(answer), token };
  }

  async revoke(token: string, signal: AbortSignal): Promise<void> {
    await this.#call("auth/token/revoke-self", { token, body: {}, signal });
  }

  close(): Promise<void> {
    return this.#dispatcher.destroy();
  }

  /** Throws `VaultRefusedError`, or another error if a later call may succeed. */
  async #call(
    path: string,
    { token, body, signal }: { token?: string; body: object; signal: AbortSignal },
  ): Promise<unknown> {
    const { address, namespace } = this.#place;
    const { statusCode, headers, ...answer } = await request(
      `${address.replace(/\/+$/, "")}/v1/${path.split("/").map(encodeURIComponent).join("/")}`,
      {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-vault-request": "true",
          ...(namespace === undefined ? {} : { "x-vault-namespace": namespace }),
          ...(token === undefined ? {} : { "x-vault-token": token }),
        },
        body: JSON.stringify(body),
        signal: AbortSignal.any([signal, AbortSignal.timeout(callLimit)]),
        dispatcher: this.#dispatcher,
      },
    );
    // Another place must not get the token.
    if (statusCode >= 300 && statusCode < 400) {
      await answer.body.dump();
      throw new VaultRefusedError(
        `it redirects to ${quoted(String(headers.location))}: name the address that answers itself`,
      );
    }
    const text = await textWithin(answer.body, answerLimit);
    if (text === undefined) throw new VaultRefusedError(`it sent more than ${answerLimit} bytes`);
    if (statusCode < 300) return parsed(text);
    const said = `${statusCode} ${errorsIn(parsed(text))}`.trim();
    throw isPassing(statusCode) ? new Error(said) : new VaultRefusedError(said);
  }
}

/** Also while it is sealed, has no leader, or has not yet what another of its nodes has written. */
const isPassing = (status: number): boolean => [408, 412, 429].includes(status) || status >= 500;

function tokenIn(answer: unknown): VaultToken {
  const { auth } = (answer ?? {}) as { auth?: unknown };
  const { client_token, lease_duration, renewable } = (auth ?? {}) as Record<string, unknown>;
  if (typeof client_token !== "string" || !/^[\x21-\x7e]{1,4096}$/.test(client_token))
    throw new VaultRefusedError("its response has no token: check that the address is Vault's");
  const seconds = typeof lease_duration === "number" && lease_duration > 0 ? lease_duration : 0;
  return {
    token: client_token,
    life: seconds === 0 ? endless : seconds * second,
    isRenewable: renewable === true,
  };
}

function parsed(text: string): unknown {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    return {};
  }
}

function errorsIn(answer: unknown): string {
  const { errors } = (answer ?? {}) as { errors?: unknown };
  return Array.isArray(errors) ? quoted(errors.map(String).join("; ")) : "";
}

/** On one line: what another system says may have any length and any characters. */
const quoted = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, quotedLimit);
