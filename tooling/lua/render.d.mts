type Pieces = (string | { part: string })[];

export function renderScripts(
  scripts: { name: string; text: string; pieces?: Pieces }[],
  from: string,
  shared?: Map<string, Pieces>,
): string;
