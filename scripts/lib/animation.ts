/** An SVG that plays a terminal beside pictures of a page. */
import { createAnsiSequenceParser } from "ansi-sequence-parser";

export interface Frame {
  readonly seconds: number;
  /** Everything that was written to the terminal so far. */
  readonly terminal: string;
  /** The page, as an address of data. */
  readonly picture: string;
}

const rows = 31;
const columns = 80;
const [cell, line] = [7.9, 18.6];
const [left, height, page] = [columns * cell + 24, rows * line + 22, 660];

const themes = {
  light: { back: "#f6f8fa", border: "#d0d7de", text: "#1f2328", dim: "#59636e" },
  dark: { back: "#0d1117", border: "#3d444d", text: "#e6edf3", dim: "#9198a1" },
};
const colours: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  brightblack: ["#59636e", "#9198a1"],
  red: ["#cf222e", "#ff7b72"],
  green: ["#116329", "#3fb950"],
  yellow: ["#7d4e00", "#d29922"],
  blue: ["#0969da", "#4493f8"],
  magenta: ["#8250df", "#bc8cff"],
  cyan: ["#1b7c83", "#39c5cf"],
};

/** Returns the SVG, which plays once more after the last frame was seen for five seconds. */
export function animation(frames: readonly Frame[], name: keyof typeof themes): string {
  const total = (frames.at(-1)?.seconds ?? 0) + 5;
  const { back, border, text } = themes[name];
  const played = (draw: (frame: Frame) => string): string => {
    const drawings = frames.map((frame) => ({ at: frame.seconds / total, drawing: draw(frame) }));
    const changes = drawings.filter(
      ({ drawing }, index) => index === 0 || drawing !== drawings[index - 1]?.drawing,
    );
    return changes
      .map(({ at, drawing }, index) => {
        const from = index === 0 ? 0 : at;
        const to = changes[index + 1]?.at ?? 1;
        const shown = [
          ...(from > 0 ? [[0, "none"]] : []),
          [from, "inline"],
          ...(to < 1 ? [[to, "none"]] : []),
        ];
        const times = shown.map(([time]) => Number(time).toFixed(4)).join(";");
        const values = shown.map(([, value]) => value).join(";");
        return `<g display="none"><animate attributeName="display" calcMode="discrete" dur="${total.toFixed(2)}s" repeatCount="indefinite" values="${values}" keyTimes="${times}"/>${drawing}</g>`;
      })
      .join("\n");
  };
  const width = left + 12 + page;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<style>text{white-space:pre;font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${text}}</style>
<rect x=".5" y=".5" width="${left - 1}" height="${height - 1}" rx="8" fill="${back}" stroke="${border}"/>
<rect x="${left + 12}" y=".5" width="${page - 1}" height="${height - 1}" rx="8" fill="${back}" stroke="${border}"/>
${played(({ terminal }) => drawn(terminal, name))}
${played(({ picture }) => `<image x="${left + 13}" y="1" width="${page - 2}" height="${height - 2}" href="${picture}"/>`)}
</svg>
`;
}

interface Token {
  readonly value: string;
  readonly style: string;
}

/** The last rows of a terminal, without text that was erased. Long lines are wrapped. */
function rowsOf(raw: string, name: keyof typeof themes): Token[][] {
  const parser = createAnsiSequenceParser();
  const lines = raw
    .replaceAll("\r\n", "\n")
    .split("\n")
    // eslint-disable-next-line no-control-regex -- the sequences that erase a line
    .map((one) => one.split(/\r?\u001b\[(?:2?K|0?J)/).at(-1) ?? "")
    // eslint-disable-next-line no-control-regex -- all others except those of colours
    .map((one) => one.replaceAll(/\u001b\[[\d;?]*[A-Za-ln-z]|\r/g, ""));
  return lines
    .flatMap((text) => {
      const found: Token[][] = [[]];
      let column = 0;
      for (const { value, foreground, decorations } of parser.parse(text)) {
        const colour = foreground?.type === "named" && colours[foreground.name.toLowerCase()];
        const own = colour ? colour[name === "light" ? 0 : 1] : undefined;
        const fill = decorations.has("dim") ? themes[name].dim : own;
        const style = `${fill ? ` fill="${fill}"` : ""}${decorations.has("bold") ? ' font-weight="bold"' : ""}`;
        for (let rest = value; rest !== "";) {
          if (column === columns) {
            found.push([]);
            column = 0;
          }
          const part = rest.slice(0, columns - column);
          found.at(-1)?.push({ value: part, style });
          column += part.length;
          rest = rest.slice(part.length);
        }
      }
      return found;
    })
    .slice(-rows);
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const drawn = (terminal: string, name: keyof typeof themes): string =>
  rowsOf(terminal, name)
    .map((tokens, row) => {
      const spans = tokens.map(({ value, style }) =>
        style === "" ? escaped(value) : `<tspan${style}>${escaped(value)}</tspan>`,
      );
      const y = (18 + row * line).toFixed(1);
      return spans.length === 0 ? "" : `<text x="12" y="${y}">${spans.join("")}</text>`;
    })
    .join("");
