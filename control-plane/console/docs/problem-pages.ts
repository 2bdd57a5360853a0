/** The `type` of each problem leads here (RFC 9457, section 3.1.1). */
import type { FastifyInstance } from "fastify";
import { endpoints } from "../../../protocol/endpoints.ts";
import { problemCodes, type ProblemCode } from "../../../protocol/problem.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { refusalsOf } from "../../openapi/refusals.ts";
import { html } from "../page/html.ts";
import { sendPage } from "../page/layout.ts";

export function problemPages(app: FastifyInstance): void {
  app.get<{ Params: { code: string } }>("/problems/:code", async ({ params: { code } }, reply) => {
    if (!isCode(code)) throw new RefusalError("not_found", "No problem has this code");
    const [status, title] = problemCodes[code];
    const operations = Object.values(endpoints).filter((endpoint) =>
      refusalsOf(endpoint).includes(code),
    );
    const body = html` <h1>${title}</h1>
      <p>The response has the status ${String(status)} and the code <code>${code}</code>.</p>
      <h2>Where it comes from</h2>
      <ul>
        ${operations.map(
          ({ method, path, summary }) => html`<li><code>${method} ${path}</code> ${summary}</li>`,
        )}
      </ul>
      ${operations.length === 0 ? html`<p>Any request may get this response.</p>` : null}`;
    sendPage(reply, { title, body });
    return reply;
  });
}

const isCode = (code: string): code is ProblemCode => Object.hasOwn(problemCodes, code);
