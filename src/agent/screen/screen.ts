import { Box, render, Text, useInput, useWindowSize } from 'ink'
import { createElement, useEffect, useState } from 'react'
import type { Agent } from '../agent.ts'
import type { AgentTunnel } from '../tunnels/tunnel.ts'
import { followHints, type Hint } from './hints.ts'
import type { ScreenRow } from './layout.ts'
import { buildScreenRows } from './model.ts'

/** Actions of the screen's keys. */
export interface ScreenActions {
  quit(): void
  update(): void
}

export interface ScreenOptions {
  agent: Agent
  webUrl: string | undefined
  actions: ScreenActions
  background: 'black' | 'transparent'
  /** Show the QR code of the first URL. */
  qr?: boolean
  stdout?: NodeJS.WriteStream
  stdin?: NodeJS.ReadStream
}

const REFRESH_INTERVAL_MS = 1000
const RENDER_DELAY_MS = 100
/** Containers come and go, each with its own. */
const MAX_HINTS = 10
const CURSOR_HOME = '\u001b[H'

/** Shows the live screen; the returned function removes it. */
export function startScreen(options: ScreenOptions): () => void {
  const { stdout = process.stdout, stdin = process.stdin } = options
  const instance = render(null, {
    stdout,
    stdin,
    // The caller has checked for a terminal; ink's own check would disable the screen when `CI` is set.
    interactive: true,
    exitOnCtrlC: false,
    patchConsole: false,
    incrementalRendering: true,
    // What was on the terminal before is there again afterwards, also after a crash.
    alternateScreen: true,
  })
  // The alternate screen begins with the cursor where the other screen had it.
  stdout.write(CURSOR_HOME)
  instance.rerender(createElement(Screen, options))
  return () => instance.unmount()
}

function Screen({ agent, webUrl, actions, background, qr = false }: ScreenOptions) {
  const { columns, rows } = useWindowSize()
  const [qrName, setQrName] = useState<string | undefined>()
  const [qrRequested, setQrRequested] = useState(qr)
  const hints = useHints(agent)
  useChanges(agent)
  const urls = agent.tunnels.list().filter(({ publicUrl }) => publicUrl !== '')
  const qrTunnel = qrRequested ? urls[0] : urls.find(({ name }) => name === qrName)
  useInput((input, key) => {
    if (input === 'q' || (key.ctrl && input === 'c')) actions.quit()
    else if (key.ctrl && input === 'u') actions.update()
    else if (input === 'c') {
      setQrRequested(false)
      setQrName(nextQrTunnel(urls, qrTunnel)?.name)
    }
  })
  // A frame as high as the terminal would scroll it.
  const size = { columns: columns || 80, rows: (rows || 24) - 1 }
  const screenRows = buildScreenRows(agent, { webUrl, hints, qrTunnel }, size)
  const colour = background === 'black' ? { backgroundColor: 'black' } : {}
  return createElement(Box, { flexDirection: 'column', ...colour }, ...screenRows.map(renderRow))
}

/** From the overview to the code of the first tunnel, on to the others, and back. */
function nextQrTunnel(
  tunnels: readonly AgentTunnel[],
  current: AgentTunnel | undefined,
): AgentTunnel | undefined {
  return current === undefined ? tunnels[0] : tunnels[tunnels.indexOf(current) + 1]
}

function useHints(agent: Agent): readonly Hint[] {
  const [hints, setHints] = useState<readonly Hint[]>([])
  useEffect(
    () => followHints(agent, (hint) => setHints((earlier) => [...earlier, hint].slice(-MAX_HINTS))),
    [agent],
  )
  return hints
}

function renderRow(row: ScreenRow, index: number) {
  const spans = row.map(({ text, ...style }, position) =>
    createElement(Text, { key: position, ...style }, text),
  )
  return createElement(Text, { key: index, wrap: 'truncate' }, ...(spans.length > 0 ? spans : [' ']))
}

/** Renders after changes, at most ten times a second, and every second for time-dependent values. */
function useChanges(agent: Agent): void {
  const [, setTick] = useState(0)
  useEffect(() => {
    let pending: NodeJS.Timeout | undefined
    const tick = () => {
      pending = undefined
      setTick((count) => count + 1)
    }
    const scheduleRender = () => {
      pending ??= setTimeout(tick, RENDER_DELAY_MS)
    }
    const unfollows = [agent.follow(scheduleRender), agent.captures.follow(scheduleRender, scheduleRender)]
    const interval = setInterval(tick, REFRESH_INTERVAL_MS)
    return () => {
      clearTimeout(pending)
      clearInterval(interval)
      for (const unfollow of unfollows) unfollow()
    }
  }, [agent])
}
