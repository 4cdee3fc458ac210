/** The way to what is shown: links to what is above it, and its name. */
import type { JSX } from 'preact';

import { hrefOf, Link } from '../location.ts';

interface Props {
  readonly above: readonly (readonly [title: string, parts: readonly string[]])[];
  readonly name: string;
}

export function Bread({ above, name }: Props): JSX.Element {
  return (
    <span>
      {above.map(([title, parts]) => (
        <span key={title}>
          <Link href={hrefOf(parts)}>{title}</Link> /{' '}
        </span>
      ))}
      {name}
    </span>
  );
}
