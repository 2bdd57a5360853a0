/** The plot of docs/scaling.md: cores against runners, both on logarithmic axes. */

/** What one kind of store costs the control plane. */
export interface ScalingCosts {
  readonly name: string;
  readonly color: string;
  /** With a tenth of the runners running jobs. */
  readonly measured: readonly { readonly runners: number; readonly cores: number }[];
  /** Cores for each idle runner. */
  readonly idleCores: number;
  /** Cores for the jobs of each runner. */
  readonly jobCores: number;
}

const size = { width: 720, height: 400, left: 70, right: 36, top: 24, bottom: 50 };
const runnersRange = [10, 100_000] as const;
const coresRange = [0.0001, 10] as const;
/** A server should use at most this share of its core on average. */
const usableShare = 0.6;

const scale = (
  value: number,
  [from, to]: readonly [number, number],
  start: number,
  end: number,
): number =>
  start +
  ((Math.log10(value) - Math.log10(from)) / (Math.log10(to) - Math.log10(from))) * (end - start);
const x = (runners: number) =>
  scale(runners, runnersRange, size.left, size.width - size.right).toFixed(1);
const y = (cores: number) =>
  scale(cores, coresRange, size.height - size.bottom, size.top).toFixed(1);

const line = (perRunner: number, color: string, dashes = "none") =>
  `<line x1="${x(10)}" y1="${y(perRunner * 10)}" x2="${x(100_000)}" y2="${y(perRunner * 100_000)}" stroke="${color}" stroke-width="2" stroke-dasharray="${dashes}"/>`;
const tick = (text: string, at: string) => `<text ${at} font-size="12" fill="#555">${text}</text>`;

export function drawScaling(series: readonly ScalingCosts[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="sans-serif" role="img">
<title>Processor cores that control planes need, by the number of runners</title>
<rect width="100%" height="100%" fill="#fff"/>
${[10, 100, 1000, 10_000, 100_000].map((runners) => `<line x1="${x(runners)}" y1="${size.top}" x2="${x(runners)}" y2="${size.height - size.bottom}" stroke="#ddd"/>${tick(runners.toLocaleString("en"), `x="${x(runners)}" y="${size.height - 32}" text-anchor="middle"`)}`).join("\n")}
${[0.0001, 0.001, 0.01, 0.1, 1, 10].map((cores) => `<line x1="${size.left}" y1="${y(cores)}" x2="${size.width - size.right}" y2="${y(cores)}" stroke="#ddd"/>${tick(`${cores}`, `x="${size.left - 8}" y="${y(cores)}" text-anchor="end" dominant-baseline="middle"`)}`).join("\n")}
${tick("runners", `x="${size.width / 2}" y="${size.height - 10}" text-anchor="middle"`)}
${tick("cores", `x="16" y="16"`)}
${[1, 2, 4].map((servers) => `<line x1="${size.left}" y1="${y(servers * usableShare)}" x2="${size.width - size.right}" y2="${y(servers * usableShare)}" stroke="#b36b00" stroke-dasharray="4 4"/>${tick(`${servers} server${servers > 1 ? "s" : ""} at 60 %`, `x="${size.left + 8}" y="${Number(y(servers * usableShare)) - 3}"`)}`).join("\n")}
${series.map(drawSeries).join("\n")}
</svg>
`;
}

function drawSeries(
  { name, color, measured, idleCores, jobCores }: ScalingCosts,
  index: number,
): string {
  const label = (text: string, row: number) =>
    `<text x="${size.width - size.right}" text-anchor="end" y="${size.height - 160 + 54 * index + 16 * row}" font-size="13" fill="${color}">${name}${text}</text>`;
  return `${line(idleCores, color)}
${line(idleCores + jobCores, color, "8 4")}
${measured.map(({ runners, cores }) => `<circle cx="${x(runners)}" cy="${y(cores)}" r="4" fill="${color}"/>`).join("\n")}
${label(": measured, a tenth run jobs (points)", 0)}
${label(": runners without jobs (line)", 1)}
${label(": and a job an hour on each (dashes)", 2)}`;
}
