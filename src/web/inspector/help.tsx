import { useEffect, useRef } from 'react'

const KEYS = [
  ['j ↓ / k ↑', 'next, previous request'],
  ['g / G', 'newest, oldest'],
  ['Enter / Esc', 'open, back'],
  ['/', 'search'],
  ['r / e', 'replay, replay with changes'],
  ['d', 'compare with another request'],
  ['s', 'pin, unpin'],
  ['p', 'pause'],
  ['1 2 3 4', 'Summary, Headers, Raw, Binary'],
  ['?', 'this help'],
] as const

const TERMS = [
  ['orders', 'in the path, status, headers or bodies'],
  ['"two words"', 'exact phrase'],
  ['-orders', 'exclude'],
  ['status:4xx  status:>=500', 'by status; status:error for failed requests'],
  ['method:post  path:/api  ip:203.', 'by method, path, client'],
  ['header:content-type=json', 'by header'],
  ['body:text', 'in bodies only'],
  ['duration:>250ms  size:>10kB', 'slow, large'],
] as const

/** Keyboard shortcuts and search syntax. */
export function Help({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="help-title">
      <h2 id="help-title">Help</h2>
      <h3>Keys</h3>
      <List entries={KEYS} />
      <h3>Search</h3>
      <List entries={TERMS} />
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  )
}

function List({ entries }: { entries: readonly (readonly [string, string])[] }) {
  return (
    <dl>
      {entries.map(([term, meaning]) => (
        <div key={term}>
          <dt>
            <kbd>{term}</kbd>
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  )
}
