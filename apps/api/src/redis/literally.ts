/** Escapes a text for a pattern of SCAN. */
export function literally(text: string): string {
  return text.replace(/[*?[\]\\^-]/g, '\\$&');
}
