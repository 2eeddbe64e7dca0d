import { useEffect, useMemo, useState } from 'react'
import { LocalTime } from '../../shared/time.tsx'
import { formatBytes, formatDuration } from '../../shared/units.ts'
import { detectKind } from '../message/content.ts'
import { decodeText, type Message } from '../message/message.ts'
import { formatJson } from '../message/pretty.ts'
import { type LoadedExchange, loadExchange } from './exchange.ts'
import { type DiffRow, diffFields, diffLines } from './line-diff.ts'
import { StatusCode } from './request-list.tsx'
import './diff-view.css'

/** Limits for compared lines, context around a difference, and rendered rows. */
const MAX_LINES = 5000
const CONTEXT_LINES = 3
const MAX_ROWS = 1000

interface Props {
  left: string
  right: string
  onStop(): void
  onBack(): void
}

/** Compares two exchanges side by side: request line, headers and bodies, with differences marked. */
export function DiffView({ left, right, onStop, onBack }: Props) {
  const [pair, setPair] = useState<readonly [LoadedExchange, LoadedExchange]>()
  const [problem, setProblem] = useState('')
  useEffect(() => {
    let current = true
    Promise.all([loadExchange(left), loadExchange(right)]).then(
      (loaded) => current && setPair(loaded),
      (error: Error) => current && setProblem(error.message),
    )
    return () => {
      current = false
    }
  }, [left, right])
  return (
    <>
      <div className="heading">
        <button type="button" className="back" onClick={onBack}>
          ← Requests
        </button>
        <h2>Request comparison</h2>
        <div className="actions">
          <button type="button" onClick={onStop}>
            Stop comparing
          </button>
        </div>
        {problem !== '' && <p className="note error">{problem}</p>}
      </div>
      {pair && <Comparison pair={pair} />}
    </>
  )
}

function Comparison({ pair: [left, right] }: { pair: readonly [LoadedExchange, LoadedExchange] }) {
  return (
    <div className="diff">
      <div className="pair">
        <Title name="First" exchange={left} />
        <Title name="Second" exchange={right} />
      </div>
      <Sides name="Request" left={left.request} right={right.request} />
      <Sides name="Response" left={left.response} right={right.response} />
    </div>
  )
}

function Title({ name, exchange: { capture } }: { name: string; exchange: LoadedExchange }) {
  return (
    <div>
      <h3>{name}</h3>
      <p className="first-line">
        {capture.request.method} {capture.request.uri.slice(0, 200)}
      </p>
      <p className="facts">
        <StatusCode capture={capture} />
        <span>{formatDuration(capture.duration)}</span>
        <span>{formatBytes(capture.response?.body_size ?? 0)}</span>
        <LocalTime value={capture.start} />
      </p>
    </div>
  )
}

function Sides({
  name,
  left,
  right,
}: {
  name: string
  left: Message | undefined
  right: Message | undefined
}) {
  const line = useMemo(() => diffLines(firstLines(left), firstLines(right)), [left, right])
  const headers = useMemo(() => diffFields(left?.headers ?? [], right?.headers ?? []), [left, right])
  const body = useMemo(() => diffBodies(left, right), [left, right])
  return (
    <section className="message" aria-label={name}>
      <h3>{name}</h3>
      <DiffTable caption={name === 'Request' ? 'Request line' : 'Status line'} rows={line} />
      <DiffTable caption="Headers" rows={headers} />
      {typeof body === 'string' ? <p className="note">{body}</p> : <DiffTable caption="Body" rows={body} />}
    </section>
  )
}

const firstLines = (message: Message | undefined) => (message ? [message.firstLine] : [])

/** The rows of two bodies, JSON formatted; a note if they cannot be compared as text. */
function diffBodies(left: Message | undefined, right: Message | undefined): DiffRow[] | string {
  const [leftBody, rightBody] = [left?.body ?? new Uint8Array(), right?.body ?? new Uint8Array()]
  if (leftBody.length === 0 && rightBody.length === 0) return 'No bodies.'
  const [leftText, rightText] = [comparableText(left), comparableText(right)]
  if (leftText === undefined || rightText === undefined) {
    const equal =
      leftBody.length === rightBody.length && leftBody.every((byte, index) => byte === rightBody[index])
    return `The bodies are not both text; they ${equal ? 'are identical' : 'differ'} (${formatBytes(leftBody.length)}, ${formatBytes(rightBody.length)}).`
  }
  return diffLines(splitLines(leftText), splitLines(rightText))
}

function comparableText(message: Message | undefined): string | undefined {
  if (!message) return ''
  const text = decodeText(message.body)
  if (text === undefined || detectKind(message.contentType, message.body.length, text) !== 'json') return text
  const pretty = formatJson(text)
  return 'tokens' in pretty ? pretty.tokens.map((token) => token.text).join('') : text
}

const splitLines = (text: string) => (text === '' ? [] : text.split(/\r?\n/, MAX_LINES))

function DiffTable({ caption, rows }: { caption: string; rows: readonly DiffRow[] }) {
  const changedCount = rows.filter(({ same }) => !same).length
  const visibleRows = useMemo(() => foldEqualRows(rows).slice(0, MAX_ROWS), [rows])
  return (
    <table>
      <caption>
        {caption} ·{' '}
        {changedCount === 0
          ? 'identical'
          : `${changedCount} ${changedCount === 1 ? 'line differs' : 'lines differ'}`}
      </caption>
      <thead className="hidden">
        <tr>
          <th scope="col">First</th>
          <th scope="col">Second</th>
        </tr>
      </thead>
      <tbody>
        {visibleRows.map((row, index) =>
          typeof row === 'number' ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows are never reordered.
            <tr key={index} className="fold">
              <td colSpan={2}>… {row} unchanged lines</td>
            </tr>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows are never reordered.
            <Row key={index} row={row} />
          ),
        )}
      </tbody>
    </table>
  )
}

function Row({ row: { left, right, same } }: { row: DiffRow }) {
  if (same) {
    return (
      <tr>
        <td>{truncate(left!, 500)}</td>
        <td>{truncate(right!, 500)}</td>
      </tr>
    )
  }
  return (
    <tr className="differs">
      <Cell text={left} other={right} sign="−" />
      <Cell text={right} other={left} sign="+" />
    </tr>
  )
}

/** A changed line, with the difference marked. */
function Cell({
  text,
  other,
  sign,
}: {
  text: string | undefined
  other: string | undefined
  sign: '−' | '+'
}) {
  if (text === undefined) return <td className="nothing" />
  const { before, middle, after } = findChange(text, other ?? '')
  return (
    <td className={sign === '+' ? 'added' : 'removed'}>
      <span className="sign">{sign}</span>
      {before}
      {middle !== '' && <mark>{middle}</mark>}
      {after}
    </td>
  )
}

function findChange(text: string, other: string) {
  let start = 0
  while (start < text.length && text[start] === other[start]) start++
  let end = 0
  while (end < text.length - start && end < other.length - start && text.at(-1 - end) === other.at(-1 - end))
    end++
  const before = text.slice(0, start)
  return {
    before: before.length > 200 ? `…${before.slice(-100)}` : before,
    middle: truncate(text.slice(start, text.length - end), 2000),
    after: truncate(text.slice(text.length - end), 100),
  }
}

const truncate = (text: string, maxLength: number) =>
  text.length > maxLength ? `${text.slice(0, maxLength)}…` : text

/** Replaces long runs of equal lines with their number. */
function foldEqualRows(rows: readonly DiffRow[]): (DiffRow | number)[] {
  const visible = new Uint8Array(rows.length)
  for (const [index, { same }] of rows.entries())
    if (!same) visible.fill(1, Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1)
  const folded: (DiffRow | number)[] = []
  for (let start = 0; start < rows.length; ) {
    let end = start
    while (end < rows.length && visible[end] === 0) end++
    // Short texts are shown completely.
    if (end - start > 2 * CONTEXT_LINES + (rows.length > 40 ? 0 : 40)) {
      folded.push(end - start)
      start = end
    } else folded.push(rows[start++]!)
  }
  return folded
}
