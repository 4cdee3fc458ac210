export function readHeader(
  name: string,
  source: string,
): { flags: string[]; keys: string[]; args: string[]; restKey?: string; restArg?: string };
