/** Light, dark, or as the system has it. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

const SCHEMES = ['system', 'light', 'dark'] as const;
type Scheme = (typeof SCHEMES)[number];
const STORED = 'mortise-scheme';

function stored(): Scheme {
  const text = localStorage.getItem(STORED);
  return SCHEMES.find((scheme) => scheme === text) ?? 'system';
}

/** The scheme, and the change to another one. */
export function useScheme(): readonly [scheme: Scheme, change: (scheme: Scheme) => void] {
  const [scheme, setScheme] = useState(stored);
  useEffect(() => {
    localStorage.setItem(STORED, scheme);
    document.documentElement.dataset['scheme'] = scheme;
  }, [scheme]);
  return [scheme, setScheme];
}

interface Props {
  readonly scheme: Scheme;
  readonly change: (scheme: Scheme) => void;
}

export function SchemeButton({ scheme, change }: Props): JSX.Element {
  const next = SCHEMES[(SCHEMES.indexOf(scheme) + 1) % SCHEMES.length]!;
  return (
    <button class="plain" type="button" title={`Colours: ${scheme}`} onClick={() => change(next)}>
      {{ system: '◐', light: '☀', dark: '☾' }[scheme]}
      <span class="hidden-text">
        Colours: {scheme}. Change to {next}
      </span>
    </button>
  );
}
