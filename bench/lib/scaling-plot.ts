/** The plot of docs/scaling.md: cores against runners, both on logarithmic axes. */

export interface Measured {
  readonly runners: number;
  readonly cores: number;
}

export interface ScalingCosts {
  /** With a tenth of the runners running jobs. */
  readonly measured: readonly Measured[];
  /** Cores for each idle runner. */
  readonly idleCores: number;
  /** Cores for the jobs of each runner. */
  readonly jobCores: number;
}

const size = { width: 720, height: 400, left: 70, right: 20, top: 24, bottom: 50 };
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

const line = (perRunner: number, color: string) =>
  `<line x1="${x(10)}" y1="${y(perRunner * 10)}" x2="${x(100_000)}" y2="${y(perRunner * 100_000)}" stroke="${color}" stroke-width="2"/>`;
const tick = (text: string, at: string) => `<text ${at} font-size="12" fill="#555">${text}</text>`;

/** Returns the SVG. */
export function drawScaling({ measured, idleCores, jobCores }: ScalingCosts): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="sans-serif" role="img">
<title>Processor cores that control planes need, by the number of runners</title>
<rect width="100%" height="100%" fill="#fff"/>
${[10, 100, 1000, 10_000, 100_000].map((runners) => `<line x1="${x(runners)}" y1="${size.top}" x2="${x(runners)}" y2="${size.height - size.bottom}" stroke="#ddd"/>${tick(runners.toLocaleString("en"), `x="${x(runners)}" y="${size.height - 32}" text-anchor="middle"`)}`).join("\n")}
${[0.0001, 0.001, 0.01, 0.1, 1, 10].map((cores) => `<line x1="${size.left}" y1="${y(cores)}" x2="${size.width - size.right}" y2="${y(cores)}" stroke="#ddd"/>${tick(`${cores}`, `x="${size.left - 8}" y="${y(cores)}" text-anchor="end" dominant-baseline="middle"`)}`).join("\n")}
${tick("runners", `x="${size.width / 2}" y="${size.height - 10}" text-anchor="middle"`)}
${tick("cores", `x="16" y="16"`)}
${[1, 2, 4].map((servers) => `<line x1="${size.left}" y1="${y(servers * usableShare)}" x2="${size.width - size.right}" y2="${y(servers * usableShare)}" stroke="#b36b00" stroke-dasharray="4 4"/>${tick(`${servers} server${servers > 1 ? "s" : ""} at 60 %`, `x="${size.left + 8}" y="${Number(y(servers * usableShare)) - 3}"`)}`).join("\n")}
${line(idleCores, "#2a6fb0")}
${line(idleCores + jobCores, "#a02c5a")}
${measured.map(({ runners, cores }) => `<circle cx="${x(runners)}" cy="${y(cores)}" r="4" fill="#3a7d34"/>`).join("\n")}
<text x="${size.width - 250}" y="${size.height - 116}" font-size="13" fill="#3a7d34">measured, a tenth run jobs at any time</text>
<text x="${size.width - 250}" y="${size.height - 96}" font-size="13" fill="#2a6fb0">runners without jobs</text>
<text x="${size.width - 250}" y="${size.height - 76}" font-size="13" fill="#a02c5a">and a job an hour on each of them</text>
</svg>
`;
}
