import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { createTempDir } from '../../support/temp-dir.ts'
import { type Machine, missingLines, type Step } from './guide.ts'

const root = join(import.meta.dirname, '../../..')
const START_TIMEOUT_MS = 120_000

/** Someone who follows a guide on machines that had nothing before, step by step. */
export interface Reader {
  follow(file: string, steps: readonly Step[]): Promise<void>
  /** Runs a command that no document has, and returns what it printed. */
  type(machine: Machine, command: string): Promise<string>
  /** Starts a command that runs on; resolves with what it printed once that contains a text. */
  typeAndWait(machine: Machine, command: string, until: string): Promise<string>
}

/**
 * Creates the machines, in namespaces of their own, which end with the test. The directory of a file system makes the reader's
 * machine consist of nothing else.
 */
export function startReader(t: TestContext, shared: string, system = ''): Reader {
  const directory = createTempDir()
  const child = spawn(
    'unshare',
    [
      ...['--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child'],
      ...['bash', join(import.meta.dirname, 'internet.sh')],
    ],
    {
      cwd: directory,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, DIRECTORY: directory, PUBLIC: shared, ROOT: root, SYSTEM: system },
    },
  )
  t.after(() => child.kill('SIGKILL'))
  const send = createConversation(child)
  const outputs: string[] = []

  /** Runs a step; returns the file with what it prints. */
  async function run(kind: string, machine: Machine, code: string): Promise<string> {
    const name = join(directory, `step-${outputs.length}`)
    outputs.push(`${name}.out`)
    // Hidden steps look at what the step before has printed.
    const before = outputs.length < 2 ? '' : `OUTPUT=${outputs.at(-2)}\n`
    writeFileSync(name, `${kind === 'hidden' ? before : ''}${code}\n`)
    const answer = await send(`${machine} ${kind} step-${outputs.length - 1}`)
    if (answer !== 'done') throw new Error(`${answer}: ${code}\n${describe(`${name}.out`)}`)
    return `${name}.out`
  }

  function describe(output: string): string {
    const logs = ['server.log', 'laptop/log', 'server/log', 'named.log', 'pebble.log', 'nginx.err']
    return [output, ...logs.map((name) => join(directory, name))]
      .filter((file) => existsSync(file))
      .map((file) => `--- ${file}\n${readFileSync(file, 'utf8').split('\n').slice(-25).join('\n')}`)
      .join('\n')
  }

  const waitFor = (output: string, text: string) =>
    eventually(
      () => readFileSync(output, 'utf8').includes(text),
      () => describe(output),
      START_TIMEOUT_MS,
    )

  /** The field of the last document that was printed and has it. */
  function findField(name: string): string {
    for (const file of outputs.toReversed()) {
      const [, value] = new RegExp(`"${name}": "([^"]+)"`).exec(readFileSync(file, 'utf8')) ?? []
      if (value !== undefined) return value
    }
    throw new Error(`nothing was printed that has ${name}`)
  }

  const fillIn = ({ code, copied }: Step) =>
    Object.entries(copied).reduce(
      (text, [word, field]) => text.replaceAll(new RegExp(`\\b${word}\\b`, 'g'), findField(field)),
      code,
    )

  async function followStep(step: Step): Promise<void> {
    const { machine } = step
    if (step.kind === 'output') {
      const printed = readFileSync(outputs.at(-1)!, 'utf8')
      assert.deepEqual(missingLines(step.code, printed), [], `it printed\n${printed}`)
    } else if (step.kind === 'file') {
      const path = join(directory, machine, 'work', step.path)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, `${fillIn(step)}\n`)
    } else if (step.kind === 'hidden') {
      await run('hidden', machine, step.code)
    } else if (step.kind !== 'skip') {
      const { directory: place } = step
      const code = place === undefined ? fillIn(step) : `cd ${place}\n${fillIn(step)}\ncd - > /dev/null`
      const output = await run(step.kind, machine, code)
      if (step.kind === 'background') await waitFor(output, step.until)
    }
  }

  return {
    async follow(file, steps) {
      for (const step of steps) {
        if (step.kind === 'skip') t.diagnostic(`${file}:${step.line} is not run: ${step.reason}`)
        try {
          await followStep(step)
        } catch (error) {
          throw new Error(`${file}:${step.line} ${(error as Error).message}`, { cause: error })
        }
      }
    },
    async type(machine, command) {
      return readFileSync(await run('run', machine, command), 'utf8')
    },
    async typeAndWait(machine, command, until) {
      const output = await run('background', machine, command)
      await waitFor(output, until)
      return readFileSync(output, 'utf8')
    },
  }
}

/** Sends lines to a process; each is answered with one line. */
function createConversation(child: ChildProcess): (line: string) => Promise<string> {
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  let errors = ''
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
  })
  return async (line) => {
    child.stdin!.write(`${line}\n`)
    const { value, done } = await lines.next()
    return done ? `the machines have ended: ${errors}` : value
  }
}
