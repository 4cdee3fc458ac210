export function includeParts(name: string, text: string, read: (part: string) => string): string;
