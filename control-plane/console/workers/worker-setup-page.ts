/** How to install a worker's agent, with the secret that it needs, which is shown this once. */
import type { RegistrationToken, RotatedIdentity } from "../../../protocol/workers.ts";
import { html, type Html } from "../page/html.ts";
import { copyButton, copyScript, secret } from "../page/secret.ts";
import { clock } from "../page/words.ts";

export const registrationPage = (
  { registration_token, expires_at }: RegistrationToken,
  url: string,
): Html =>
  html`<h1>Add a worker</h1>
    <p>This token is shown only once. It registers one worker, and expires ${clock(expires_at)}.</p>
    ${secret(registration_token)}
    <h2>With systemd</h2>
    <p>On the machine where terraform may run; the command asks for the token:</p>
    <pre class="log" tabindex="0" id="systemd">
sudo windlass agent install --url ${url} --registration-token-file -</pre>
    ${copyButton("systemd", "Copy the command")}
    <h2>In a container</h2>
    <p>
      With an image that was built from a checkout (<code>docker build -t windlass .</code>). The
      command asks for the token, so that it is not in the shell's history:
    </p>
    <pre class="log" tabindex="0" id="container">
printf 'Token: ' &amp;&amp; read -rs WINDLASS_REGISTRATION_TOKEN &amp;&amp; export WINDLASS_REGISTRATION_TOKEN &amp;&amp;
docker run -d --name windlass-agent --restart unless-stopped --stop-timeout 4500 \\
  -v windlass-agent:/var/lib/windlass-agent \\
  -e WINDLASS_URL=${url} -e WINDLASS_WORKER_NAME="$(hostname)" \\
  -e WINDLASS_REGISTRATION_TOKEN windlass agent</pre>
    ${copyButton("container", "Copy the commands")} ${isLoopback(url) ? containerNote : null}
    <h2>From a checkout</h2>
    <p>
      In the directory of a checkout in which <code>npm ci</code> has run, until you press Ctrl-C.
      The command asks for the token, too; at its next start, the runner needs none:
    </p>
    <pre class="log" tabindex="0" id="checkout">
printf 'Token: ' &amp;&amp; read -rs WINDLASS_REGISTRATION_TOKEN &amp;&amp; export WINDLASS_REGISTRATION_TOKEN &amp;&amp;
WINDLASS_URL=${url} bin/windlass agent</pre>
    ${copyButton("checkout", "Copy the commands")}
    <p><a href="/workers">To the workers</a>: the new one appears there when it runs.</p>
    ${copyScript}`;

/** Whether the address leads only from this machine to the server. */
const isLoopback = (url: string): boolean =>
  /^(localhost|127\.[\d.]+|\[::1\])$/.test(new URL(url).hostname);

const containerNote = html`<p>
  In a container, this address is the container itself: use another one of this server, and start
  the server so that it can be reached there (<code>WINDLASS_HOST</code>,
  <code>WINDLASS_PUBLIC_URL</code>).
</p>`;

export const rotatedPage = ({
  worker_id,
  worker_token,
  old_token_expires_at: expires,
}: RotatedIdentity): Html =>
  html`<h1>A new token</h1>
    <p>
      This token is shown only once; the old one
      ${expires === null ? "no longer works" : html`expires ${clock(expires)}`}. Give it to the
      agent (<code>WINDLASS_WORKER_TOKEN</code>, with <code>WINDLASS_WORKER_ID=${worker_id}</code>)
      and restart the agent.
    </p>
    ${secret(worker_token)}
    <p><a href="/workers/${worker_id}">To the worker</a></p>
    ${copyScript}`;
