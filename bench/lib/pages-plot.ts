/** The plot of how long pages take, as bars of milliseconds (docs/figures.md). */

/** How long a page takes in a browser, in milliseconds. */
export interface PageTime {
  readonly page: string;
  /** The finished jobs of the server. */
  readonly jobs: number;
  readonly firstByte: number;
  readonly interactive: number;
}

const size = { width: 720, left: 230, right: 70, top: 44, row: 24, gap: 10 };
const colors = { firstByte: "#2a6fb0", interactive: "#a9c8e6" };

const key = (x: number, color: string, words: string) =>
  `<rect x="${x}" y="14" width="14" height="14" fill="${color}"/><text x="${x + 20}" y="21" font-size="13" fill="#333" dominant-baseline="middle">${words}</text>`;

/** Returns the SVG. The bars of one page follow each other. */
export function drawPages(times: readonly PageTime[]): string {
  const longest = Math.max(...times.map(({ interactive }) => interactive));
  const width = (milliseconds: number) =>
    ((milliseconds / longest) * (size.width - size.left - size.right)).toFixed(1);
  let y = size.top;
  const rows = times.map(({ page, jobs, firstByte, interactive }, index) => {
    if (index > 0 && times[index - 1]!.page !== page) y += size.gap;
    const top = y;
    y += size.row;
    const bar = (milliseconds: number, color: string) =>
      `<rect x="${size.left}" y="${top + 3}" width="${width(milliseconds)}" height="${size.row - 6}" fill="${color}"/>`;
    const text = (words: string, at: string) =>
      `<text ${at} y="${top + size.row / 2}" font-size="13" fill="#333" dominant-baseline="middle">${words}</text>`;
    return [
      text(`${page}, ${jobs.toLocaleString("en")} jobs`, `x="${size.left - 10}" text-anchor="end"`),
      bar(interactive, colors.interactive),
      bar(firstByte, colors.firstByte),
      text(`${interactive.toFixed(0)} ms`, `x="${size.left + Number(width(interactive)) + 8}"`),
    ].join("\n");
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${y + 12}" font-family="sans-serif" role="img">
<title>Milliseconds until pages of the console have their first byte, and until they are interactive</title>
<rect width="100%" height="100%" fill="#fff"/>
${key(size.left, colors.firstByte, "until the first byte")}
${key(size.left + 170, colors.interactive, "until the page is interactive")}
${rows.join("\n")}
</svg>
`;
}
