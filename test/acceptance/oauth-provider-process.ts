/**
 * A program: an OAuth server in the form of one of the four providers. Arguments: the provider, and
 * the callback that it may redirect to.
 */
import { startOpenIdProvider, startPlainProvider } from "../helpers/people/providers.ts";

const [, , name = "", callback = ""] = process.argv;
const provider =
  name === "github" || name === "bitbucket"
    ? await startPlainProvider(name)
    : await startOpenIdProvider(callback);
provider.person.email = `ada@${name}.example`;
process.stdout.write(`${provider.url}\n`);
