import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { createTempDir } from '../../support/temp-dir.ts'
import { missingLines, readSteps, type Step } from './guide.ts'

const root = join(import.meta.dirname, '../../..')
const guides = join(root, 'docs/guides')

/** Guides use the ports and names of a real machine, so each runs in namespaces of its own. */
function namespaceError(): string | undefined {
  try {
    execFileSync('unshare', ['--net', '--mount', '--pid', '--fork', 'ip', 'link', 'set', 'lo', 'up'], {
      stdio: 'pipe',
    })
    return undefined
  } catch (error) {
    return `network and mount namespaces are not available: ${(error as Error).message.split('\n')[0]}`
  }
}

const skip = namespaceError() ?? false

/** The program of a guide: its steps in one shell, the output of each in a file. */
async function writeProgram(directory: string, steps: readonly Step[]): Promise<string> {
  const program: string[] = [`. ${join(import.meta.dirname, 'machine.sh')}`]
  for (const [index, step] of steps.entries()) {
    const name = `step-${index}`
    const output = `${directory}/${name}.out`
    program.push(`step=${index} line=${step.line}`)
    if (step.kind === 'file') {
      const path = join(directory, 'work', step.path)
      await mkdir(dirname(path), { recursive: true })
      program.push(`cp ${directory}/${name} ${path}`)
      await writeFile(join(directory, name), `${step.code}\n`)
    } else if (step.kind !== 'output' && step.kind !== 'skip') {
      await writeFile(join(directory, name), `${step.code}\n`)
      program.push(
        step.kind === 'background'
          ? `in_background ${directory}/${name} ${output} '${step.until}'`
          : `. ${directory}/${name} > ${output} 2>&1`,
      )
    }
  }
  await writeFile(join(directory, 'program'), `${program.join('\n')}\n`)
  return join(directory, 'program')
}

async function runGuide(directory: string, steps: readonly Step[]) {
  const program = await writeProgram(directory, steps)
  const child = spawn(
    'unshare',
    ['--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child', 'bash', program],
    {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: `${root}/bin:${root}/node_modules/.bin:${process.env.PATH}`,
        DIRECTORY: directory,
        ROOT: root,
      },
    },
  )
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [code] = await once(child, 'close')
  return { code: code as number | null, report: Buffer.concat(chunks).toString() }
}

for (const file of (await readdir(guides)).filter((name) => name.endsWith('.md') && name !== 'index.md'))
  test(`every command of the guide ${file} works`, { skip, timeout: 300_000 }, async (t) => {
    const directory = createTempDir()
    await mkdir(join(directory, 'work'))
    const steps = readSteps(await readFile(join(guides, file), 'utf8'))
    for (const step of steps)
      if (step.kind === 'skip') t.diagnostic(`${file}:${step.line} is not run: ${step.reason}`)

    const { code, report } = await runGuide(directory, steps)

    assert.equal(code, 0, `${file}\n${report}`)
    for (const [index, step] of steps.entries())
      if (step.kind === 'output') {
        const printed = await readFile(join(directory, `step-${index - 1}.out`), 'utf8')
        assert.deepEqual(missingLines(step.code, printed), [], `${file}:${step.line} printed\n${printed}`)
      }
  })
