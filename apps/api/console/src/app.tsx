/** The frame of the page: the sign-in, or the areas with the one that the address names. */
import type { ComponentChildren, ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { Area, AreaProps } from './areas.ts';
import { AREAS, areasOf } from './areas.ts';
import { useLive } from './live.ts';
import { hrefOf, Link, usePlace } from './location.ts';
import { Palette } from './palette.tsx';
import { SchemeButton, useScheme } from './scheme.tsx';
import type { Session } from './session.ts';
import { findSession, signOut, useSession } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { Surplus } from './surplus.tsx';
import { Empty, Head, Skeleton, Trouble } from './ui/elements.tsx';
import { shownText } from './ui/shown-text.ts';
import { Toasts } from './ui/toasts.tsx';

const HTTP_PORT = '80';

/** A page that follows nothing says nothing. */
const LIVE_TEXT = {
  idle: '',
  opening: 'Connecting',
  open: 'Live',
  paused: 'Paused',
  cut: 'Reconnecting',
  refused: 'Not live',
} as const;

export function App(): JSX.Element {
  const session = useSession();
  if (session === 'unknown') return <Waiting />;
  if (session === 'away') return <Away />;
  if (session === 'none') return <SignIn />;
  if (session === 'insecure') return <Insecure />;
  return <Shell session={session} />;
}

function Waiting(): JSX.Element {
  return (
    <main class="sign-in">
      <Skeleton />
    </main>
  );
}

function Away(): JSX.Element {
  return (
    <main class="sign-in">
      <Empty title="The API does not answer.">
        <button type="button" onClick={() => void findSession()}>
          Try again
        </button>
      </Empty>
    </main>
  );
}

/** What to do about an address at which nobody can sign in. */
function Insecure(): JSX.Element {
  const { port, host } = location;
  return (
    <main class="sign-in">
      <section>
        <h1>The console needs HTTPS, or localhost.</h1>
        <p>
          <code>{location.origin}</code> is plain HTTP. Over it, browsers tell the API neither who is signed
          in nor which page sends a request.
        </p>
        <p>
          Serve the API over HTTPS, or open a tunnel and use <code>http://localhost:{port || HTTP_PORT}</code>
          :
        </p>
        <pre>
          ssh -L {port || HTTP_PORT}:localhost:{port || HTTP_PORT} {host.split(':')[0]}
        </pre>
      </section>
    </main>
  );
}

function Shell({ session }: { readonly session: Session }): JSX.Element {
  const { parts } = usePlace();
  const [isMenuOpen, setIsMenuOpen] = useState(false);
  const { state: live } = useLive();
  const [scheme, setScheme] = useScheme();
  const areas = areasOf(session);
  const [id = areas[0]?.id, ...below] = parts;
  const area = areas.find((each) => each.id === id);
  useEffect(() => {
    document.title = shownText([...below, area?.title, 'Mortise'].filter(Boolean).join(' · '));
    setIsMenuOpen(false);
  }, [parts]);
  return (
    <div class="shell">
      <a class="hidden-text" href="#content">
        Skip to the content
      </a>
      <Side areas={areas} current={area?.id} isOpen={isMenuOpen}>
        <SchemeButton scheme={scheme} change={setScheme} />
        {session.canSignOut !== false && <span class="small muted">{whoIs(session)}</span>}
      </Side>
      <div>
        <header class="top">
          <button
            class="menu-button"
            type="button"
            aria-expanded={isMenuOpen}
            onClick={() => setIsMenuOpen(!isMenuOpen)}
          >
            Menu
          </button>
          <Palette areas={areas} session={session} />
          <span class="grow" />
          <span class="live" data-state={live} role="status">
            {LIVE_TEXT[live]}
          </span>
          <span class="wide-only row">
            <SchemeButton scheme={scheme} change={setScheme} />
            {session.canSignOut !== false && <span class="small muted">{whoIs(session)}</span>}
          </span>
          {session.canSignOut !== false && (
            <button class="plain" type="button" onClick={() => void signOut()}>
              Sign out
            </button>
          )}
        </header>
        {live === 'cut' && (
          <p class="banner" role="alert">
            The API does not answer. The page may be old, and continues by itself.
          </p>
        )}
        <Surplus />
        {session.console === 'read-only' && <p class="banner quiet">This console is read-only.</p>}
        <main class="content" id="content" tabIndex={-1}>
          {area ? (
            <Content key={area.id} area={area} parts={below} session={session} />
          ) : (
            <NoPage id={id} session={session} />
          )}
        </main>
      </div>
      <Toasts />
    </div>
  );
}

interface NoPageProps {
  readonly id: string | undefined;
  readonly session: Session;
}

function NoPage({ id, session }: NoPageProps): JSX.Element {
  return (
    <>
      <Head title="Nothing to show" />
      <Empty title={noPageText(id, session)}>
        <span>Choose an area of the menu, or press Ctrl K and type a name.</span>
      </Empty>
    </>
  );
}

/** Why an address shows nothing. */
function noPageText(id: string | undefined, { scopes }: Session): string {
  const hidden = AREAS.find((each) => each.id === id);
  if (hidden && scopes.includes(hidden.scope)) return `${hidden.title}: shown to the tenant "default" alone.`;
  if (hidden) return `Your key needs the scope ${hidden.scope} for ${hidden.title}.`;
  return id === undefined ? 'Your key has no scope that this page shows.' : 'There is no such page.';
}

function whoIs({ tenant, subject, keyId }: Session): string {
  return [subject ?? keyId ?? 'no key', tenant].join(' · ');
}

interface SideProps {
  readonly areas: readonly Area[];
  readonly current: string | undefined;
  readonly isOpen: boolean;
  /** What a narrow screen has no room for at its top. */
  readonly children: ComponentChildren;
}

function Side({ areas, current, isOpen, children }: SideProps): JSX.Element {
  const groups = [...new Set(areas.map(({ group }) => group))];
  return (
    <nav class={isOpen ? 'side is-open' : 'side'} aria-label="Areas">
      <Link class="brand" href={hrefOf([])}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" fill="#0f5c57" />
          <path d="M7 8h18v6h-5v4h5v6H7v-6h5v-4H7z" fill="#fff" />
        </svg>
        Mortise
      </Link>
      {groups.map((group) => (
        <div class="nav-group" key={group}>
          <h2>{group}</h2>
          <ul>
            {areas
              .filter((area) => area.group === group)
              .map(({ id, title }) => (
                <li key={id}>
                  <Link href={hrefOf([id])} aria-current={id === current ? 'page' : undefined}>
                    {title}
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
      <div class="narrow-only row">{children}</div>
    </nav>
  );
}

/** The code of an area comes when it is opened. */
function Content({ area, ...props }: AreaProps & { readonly area: Area }): JSX.Element {
  const [loaded, setLoaded] = useState<{ readonly View: ComponentType<AreaProps> }>();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    area.load().then(
      ({ default: View }) => setLoaded({ View }),
      (reason: unknown) => setError(reason as Error),
    );
  }, [area]);
  if (error) return <Trouble error={error} />;
  return loaded ? <loaded.View {...props} /> : <Skeleton />;
}
