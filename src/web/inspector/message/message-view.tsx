import { type KeyboardEvent, useId } from 'react'
import { BodyActions } from './body-actions.tsx'
import { BodyView } from './body-view.tsx'
import { parseQueryString } from './content.ts'
import { HexView } from './hex-view.tsx'
import { LongText } from './long-text.tsx'
import { latin1, type Message } from './message.ts'
import { PairTable } from './pair-table.tsx'

const TABS = ['Summary', 'Headers', 'Raw', 'Binary'] as const

/** The tabs of a message. */
export type Tab = (typeof TABS)[number]

interface Props {
  side: 'request' | 'response'
  title: string
  uri?: string
  message: Message
  tab: Tab
  onTab(tab: Tab): void
  onNotify(text: string): void
}

/** One message of an exchange with its tabs. */
export function MessageView({ side, title, uri, message, tab, onTab, onNotify }: Props) {
  const id = useId()
  const keyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length]!
    onTab(next)
    event.currentTarget.querySelector<HTMLElement>(`[data-tab=${next}]`)?.focus()
  }
  return (
    <section className="message" aria-labelledby={`${id}-title`}>
      <div className="side">
        <h3 id={`${id}-title`}>{title}</h3>
        <div role="tablist" aria-labelledby={`${id}-title`} tabIndex={-1} onKeyDown={keyDown}>
          {TABS.map((name) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`${id}-${name}`}
              data-tab={name}
              aria-selected={tab === name}
              aria-controls={`${id}-panel`}
              tabIndex={tab === name ? 0 : -1}
              onClick={() => onTab(name)}
            >
              {name}
            </button>
          ))}
        </div>
        {message.body.length > 0 && <BodyActions side={side} message={message} onNotify={onNotify} />}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tab}`} data-side={side}>
        <Panel tab={tab} message={message} uri={uri} />
      </div>
    </section>
  )
}

function Panel({ tab, message, uri }: { tab: Tab; message: Message; uri: string | undefined }) {
  switch (tab) {
    case 'Summary': {
      const query = parseQueryString(uri ?? '')
      return (
        <>
          {query.length > 0 && <PairTable caption="Query" pairs={query} />}
          <BodyView message={message} />
        </>
      )
    }
    case 'Headers':
      return (
        <>
          <p className="first-line">{message.firstLine}</p>
          <PairTable caption="Headers" pairs={message.headers} />
        </>
      )
    case 'Raw':
      return (
        <>
          <Notes message={message} />
          <LongText text={rawText(message.raw)} label="Raw message" />
        </>
      )
    case 'Binary':
      return <HexView bytes={message.raw} />
  }
}

/** Notes on truncation, redaction and decoding. */
export function Notes({ message }: { message: Message }) {
  return message.notes.map((note) => (
    <p className="note" key={note}>
      {note}
    </p>
  ))
}

function rawText(raw: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(raw, { stream: true })
  } catch {
    return latin1(raw).replace(/[\0-\x08\x0e-\x1f\x7f-\xff]/g, '·')
  }
}
