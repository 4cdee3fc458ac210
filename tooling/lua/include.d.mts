type Pieces = (string | { part: string })[];

export function includeParts(name: string, text: string, read: (part: string) => string): string;
export function partsOf(text: string, read: (part: string) => string): Set<string>;
export function piecesOf(
  text: string,
  read: (part: string) => string,
  isShared: (part: string) => boolean,
): Pieces;
