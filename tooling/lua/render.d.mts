export function renderScripts(scripts: { name: string; text: string }[], from: string): string;
