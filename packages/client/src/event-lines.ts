/** The events of a `text/event-stream`, from pieces of text that end anywhere. */
export interface ServerSentEvent {
  readonly id: string;
  readonly data: string;
}

/** Returns a function that takes the next piece and returns the events that it completes. The API ends lines with LF. */
export function eventReader(): (piece: string) => ServerSentEvent[] {
  let rest = '';
  return (piece) => {
    const blocks = (rest + piece).split('\n\n');
    rest = blocks.pop()!;
    return blocks.map((block) => {
      const fields: Record<string, string> = { id: '', data: '' };
      for (const line of block.split('\n')) {
        const [, name = '', value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? [];
        if (name in fields) fields[name] += value;
      }
      return { id: fields['id']!, data: fields['data']! };
    });
  };
}
