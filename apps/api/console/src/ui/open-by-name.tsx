/** Opens something by its name, where the API lists none: the form, and the names that were opened here before. */
import type { JSX, TargetedSubmitEvent } from 'preact';
import { useState } from 'preact/hooks';

import { go, hrefOf, Link } from '../location.ts';

const MAX_KEPT = 8;

interface Props {
  /** The first parts of the address. */
  readonly parts: readonly string[];
  readonly label: string;
  readonly placeholder?: string;
}

export function OpenByName({ parts, label, placeholder }: Props): JSX.Element {
  const [names, setNames] = useState(() => kept(parts));
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const name = (new FormData(event.currentTarget).get('name') as string).trim();
    if (name === '') return;
    const next = [name, ...names.filter((each) => each !== name)].slice(0, MAX_KEPT);
    localStorage.setItem(keyOf(parts), JSON.stringify(next));
    setNames(next);
    go(hrefOf([...parts, name]));
  };
  return (
    <section class="card">
      <form class="row of-fields" onSubmit={submit}>
        <label class="field combo">
          <span>{label}</span>
          <input name="name" data-filter required autocomplete="off" placeholder={placeholder} />
        </label>
        <button class="primary" type="submit">
          Open
        </button>
      </form>
      {names.length > 0 && (
        <p class="row small">
          <span class="muted">Opened before:</span>
          {names.map((name) => (
            <Link key={name} href={hrefOf([...parts, name])}>
              {name}
            </Link>
          ))}
        </p>
      )}
    </section>
  );
}

function keyOf(parts: readonly string[]): string {
  return `mortise-names:${parts.join('/')}`;
}

function kept(parts: readonly string[]): string[] {
  try {
    const names = JSON.parse(localStorage.getItem(keyOf(parts)) ?? '[]') as unknown;
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  } catch {
    return [];
  }
}
