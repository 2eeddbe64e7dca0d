import { type CSSProperties, type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import type { PolicyAttachment, PolicyCheck, PolicyLanguage } from '../../../dashboard/page-data.ts'
import { api, errorMessage } from '../api.ts'
import { Button, type ControlProps, Notice, useApi } from '../kit/index.ts'
import { type Completions, completionsAt } from './completion.ts'
import { gallery } from './gallery.ts'
import { PolicyPath } from './policy-path.tsx'
import { PolicyTrial } from './policy-trial.tsx'
import './policy.css'

/** Waits until typing pauses. */
const CHECK_DELAY_MS = 300
const NO_COMPLETIONS: Completions = { from: 0, options: [] }

/** Edits a traffic policy: completes words, checks as one types, draws the way of a request and tries one. */
export default function PolicyEditor({
  value,
  onValue,
  control,
  attachment,
  trialUrl,
}: {
  value: string
  onValue: (value: string) => void
  control: ControlProps
  attachment: PolicyAttachment
  /** The URL of the request to try first. */
  trialUrl: string
}) {
  const { check, error } = useCheck(value, attachment)
  const area = useRef<HTMLTextAreaElement>(null)
  const examples = gallery.filter(({ kinds }) => kinds.includes(attachment.kind))

  /** Replaces a part of the text as if it was typed, so that the browser can undo it. */
  const insert = (from: number, to: number, text: string) => {
    area.current?.focus()
    area.current?.setSelectionRange(from, to)
    document.execCommand('insertText', false, text)
  }
  const goToLine = (line: number) => {
    const start =
      value
        .split('\n')
        .slice(0, line - 1)
        .join('\n').length + (line > 1 ? 1 : 0)
    area.current?.focus()
    area.current?.setSelectionRange(start, start)
  }
  const findings = check === undefined ? [] : [...check.issues, ...check.warnings]
  const wrong = new Set(check?.issues.map(({ line }) => line))
  return (
    <div className="policy-editor">
      {examples.length > 0 && (
        <div className="policy-gallery">
          <span className="quiet">Start with:</span>
          {examples.map(({ title, text }) => (
            <Button key={title} kind="quiet" onClick={() => insert(0, value.length, text)}>
              {title}
            </Button>
          ))}
        </div>
      )}
      <PolicyText
        value={value}
        onValue={onValue}
        control={control}
        area={area}
        wrong={wrong}
        insert={insert}
      />
      <div role="status" className="policy-status">
        {error !== undefined && <Notice kind="bad">{error}</Notice>}
        {check?.issues.length === 0 && value !== '' && <p className="quiet">The policy is valid.</p>}
        {check && findings.length > 0 && value !== '' && (
          <ul>
            {findings.map(({ line, message }) => (
              <li key={`${line} ${message}`}>
                {line !== null && (
                  <Button kind="quiet" onClick={() => goToLine(line)}>
                    Line {line}
                  </Button>
                )}{' '}
                {message}
              </li>
            ))}
          </ul>
        )}
      </div>
      {check && check.rules.length > 0 && <PolicyPath rules={check.rules} attachment={attachment} />}
      {check && check.rules.length > 0 && attachment.protocol.startsWith('http') && (
        <PolicyTrial policy={value} attachment={attachment} initialUrl={trialUrl} />
      )}
    </div>
  )
}

/** Checks a text when typing pauses. The latest result stays until the next is there. */
function useCheck(policy: string, { protocol, kind }: PolicyAttachment) {
  const [state, setState] = useState<{ check?: PolicyCheck; error?: string }>({})
  useEffect(() => {
    let cancelled = false
    const timer = setTimeout(async () => {
      try {
        const check = await api.post<PolicyCheck>('/dashboard/api/policy_check', {
          policy,
          attachment: { protocol, kind },
        })
        if (!cancelled) setState({ check })
      } catch (error) {
        if (!cancelled) setState({ error: errorMessage(error) })
      }
    }, CHECK_DELAY_MS)
    return () => {
      cancelled = true
      clearTimeout(timer)
    }
  }, [policy, protocol, kind])
  return state
}

/** The text with line numbers and a list of words. */
function PolicyText({
  value,
  onValue,
  control,
  area,
  wrong,
  insert,
}: {
  value: string
  onValue: (value: string) => void
  control: ControlProps
  area: { current: HTMLTextAreaElement | null }
  /** The numbers of lines with mistakes. */
  wrong: ReadonlySet<number | null>
  insert: (from: number, to: number, text: string) => void
}) {
  const { value: language } = useApi<PolicyLanguage>('/dashboard/api/policy_language')
  const [completions, setCompletions] = useState(NO_COMPLETIONS)
  const [selected, setSelected] = useState(0)
  const gutter = useRef<HTMLDivElement>(null)
  const listId = useId()
  const { options } = completions

  const complete = (text: string, caret: number) => {
    setCompletions(language ? completionsAt(text, caret, language) : NO_COMPLETIONS)
    setSelected(0)
  }
  const accept = (index: number) => {
    const option = options[index]
    const caret = area.current?.selectionEnd ?? 0
    if (option) insert(completions.from, caret, option.insert)
    setCompletions(NO_COMPLETIONS)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const { selectionEnd } = event.currentTarget
    if (event.key === ' ' && event.ctrlKey) complete(value, selectionEnd)
    else if (options.length === 0) return
    else if (event.key === 'ArrowDown') setSelected((selected + 1) % options.length)
    else if (event.key === 'ArrowUp') setSelected((selected + options.length - 1) % options.length)
    else if (event.key === 'Enter' || event.key === 'Tab') accept(selected)
    else if (event.key === 'Escape') {
      setCompletions(NO_COMPLETIONS)
      event.stopPropagation()
    } else return
    event.preventDefault()
  }
  const lines = value.split('\n')
  const line = value.slice(0, completions.from).split('\n').length
  return (
    <div className="policy-text">
      <div className="policy-gutter" ref={gutter} aria-hidden="true">
        {lines.map((_, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number.
          <span key={index} className={wrong.has(index + 1) ? 'wrong-line' : undefined}>
            {index + 1}
          </span>
        ))}
      </div>
      <textarea
        {...control}
        ref={area}
        className="code"
        rows={Math.min(30, Math.max(14, lines.length + 1))}
        spellCheck={false}
        wrap="off"
        aria-autocomplete="list"
        aria-controls={options.length > 0 ? listId : undefined}
        aria-activedescendant={options.length > 0 ? `${listId}-${selected}` : undefined}
        value={value}
        onChange={({ target }) => {
          onValue(target.value)
          complete(target.value, target.selectionEnd)
        }}
        onKeyDown={onKeyDown}
        onBlur={() => setCompletions(NO_COMPLETIONS)}
        onScroll={({ currentTarget }) => {
          if (gutter.current) gutter.current.scrollTop = currentTarget.scrollTop
        }}
      />
      {options.length > 0 && (
        <div
          className="policy-words"
          id={listId}
          role="listbox"
          aria-label="Completions"
          style={placeAt(line, area.current)}
        >
          {options.map(({ label, detail }, index) => (
            <div
              key={label}
              id={`${listId}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === selected}
              ref={(element) => {
                if (index === selected) element?.scrollIntoView({ block: 'nearest' })
              }}
              onMouseDown={(event) => {
                event.preventDefault()
                accept(index)
              }}
            >
              <b>{label}</b> <small>{detail}</small>
            </div>
          ))}
        </div>
      )}
    </div>
  )
}

/** Below a line of the text, or above one in its lower half: over the text, not over what follows it. */
function placeAt(line: number, area: HTMLTextAreaElement | null): CSSProperties {
  const { scrollTop, clientHeight } = area ?? { scrollTop: 0, clientHeight: 0 }
  const lineHeight = area ? Number.parseFloat(getComputedStyle(area).lineHeight) : 0
  const top = `${line - 1} * 1.5em + 0.75rem - ${scrollTop}px`
  return (line - 1) * lineHeight - scrollTop > clientHeight / 2
    ? { bottom: `calc(100% - (${top}))`, maxHeight: `min(15rem, ${top})` }
    : { top: `calc(${top} + 1.5em)`, maxHeight: `min(15rem, 100% - (${top} + 1.5em))` }
}
