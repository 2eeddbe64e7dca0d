import assert from 'node:assert/strict'
import { type ExecFileSyncOptions, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { before, test } from 'node:test'
import { createGzip } from 'node:zlib'
import { signRelease } from '../../../scripts/release/signature.ts'
import { VERSION } from '../../../src/base/version.ts'
import { createTempDir } from '../../support/temp-dir.ts'
import { createTestCa } from '../../support/test-ca.ts'
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

/** What a reader does once, before the first guide. */
const preparation = readSteps(await readFile(join(guides, 'index.md'), 'utf8'))

/** What machines have from elsewhere: an authority, and a release of this checkout for Linux. */
let shared: string

before(async () => {
  if (skip) return
  shared = createTempDir()
  const release = join(shared, 'release')
  await mkdir(release)
  const ca = await createTestCa()
  const { cert, key } = await ca.issue('203.0.113.53')
  const files = { 'authority.pem': ca.caPem, 'cert.pem': cert, 'key.pem': key }
  for (const [name, text] of Object.entries(files)) await writeFile(join(shared, name), text)
  const pebble = {
    listenAddress: '203.0.113.53:14000',
    managementListenAddress: '203.0.113.53:15000',
    certificate: join(shared, 'cert.pem'),
    privateKey: join(shared, 'key.pem'),
    httpPort: 80,
    tlsPort: 443,
  }
  await writeFile(join(shared, 'pebble.json'), JSON.stringify({ pebble }))
  const platform = `linux-${process.arch}`
  const options: ExecFileSyncOptions = { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }
  execFileSync(process.execPath, ['scripts/build-executables.ts', '--no-compress', platform], options)
  const executable = `adit-${VERSION}-${platform}`
  const packed = createWriteStream(join(release, `${executable}.gz`))
  await pipeline(createReadStream(join(root, 'dist/executables', executable)), createGzip(), packed)
  execFileSync('npm', ['pack', '--silent', '.', './dist/adit-agent', '--pack-destination', release], options)
  await signRelease(release, VERSION, undefined)
})

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
        PATH: `/usr/local/bin:${root}/node_modules/.bin:${process.env.PATH}`,
        DIRECTORY: directory,
        PUBLIC: shared,
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
    const steps = [...preparation, ...readSteps(await readFile(join(guides, file), 'utf8'))]
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
