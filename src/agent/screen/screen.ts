import { Box, render, Text, useInput, useWindowSize } from 'ink'
import { createElement, useEffect, useState } from 'react'
import type { Agent } from '../agent.ts'
import { buildScreenRows, type ScreenRow } from './model.ts'

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
  stdout?: NodeJS.WriteStream
  stdin?: NodeJS.ReadStream
}

const REFRESH_INTERVAL_MS = 1000
const RENDER_DELAY_MS = 100

/** Shows the live screen; the returned function removes it. */
export function startScreen(options: ScreenOptions): () => void {
  const { stdout = process.stdout, stdin = process.stdin } = options
  const instance = render(createElement(Screen, options), {
    stdout,
    stdin,
    // The caller has checked for a terminal; ink's own check would disable the screen when `CI` is set.
    interactive: true,
    exitOnCtrlC: false,
    patchConsole: false,
    incrementalRendering: true,
  })
  return () => instance.unmount()
}

function Screen({ agent, webUrl, actions, background }: ScreenOptions) {
  const { columns } = useWindowSize()
  useChanges(agent)
  useInput((input, key) => {
    if (key.ctrl && input === 'c') actions.quit()
    else if (key.ctrl && input === 'u') actions.update()
  })
  const rows = buildScreenRows(agent, webUrl, columns || 80)
  const colour = background === 'black' ? { backgroundColor: 'black' } : {}
  return createElement(Box, { flexDirection: 'column', ...colour }, ...rows.map(renderRow))
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
