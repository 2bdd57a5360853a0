/** Files of packages that the console serves, with their licences. A build copies them to `files`. */
import { iconNames } from "./page/icon-names.ts";

export const packageFiles: readonly string[] = [
  "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
  "@fontsource-variable/inter/files/inter-latin-ext-wght-normal.woff2",
  "@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2",
  ...iconNames.map((name) => `lucide-static/icons/${name}.svg`),
];

/** Each goes with the files of its package. */
export const packageLicences: readonly string[] = [
  "@fontsource-variable/inter/LICENSE",
  "@fontsource-variable/jetbrains-mono/LICENSE",
  "lucide-static/LICENSE",
];
