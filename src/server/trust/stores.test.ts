import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detectStores, type RootCertificate, type System } from './stores.ts'

const ROOT: RootCertificate = { file: '/data/ca.pem', name: 'Adit private root 1a2b3c4d', sha1: 'AB12' }

function createSystem({
  paths = [],
  programs = [],
  directories = {},
  ...facts
}: Partial<Pick<System, 'platform' | 'javaHome'>> & {
  paths?: string[]
  programs?: string[]
  directories?: Record<string, string[]>
}): System {
  return {
    platform: 'linux',
    home: '/home/ada',
    javaHome: undefined,
    exists: (path) => paths.includes(path),
    directories: (path) => directories[path] ?? [],
    hasProgram: (name) => programs.includes(name),
    ...facts,
  }
}

const commandsOf = (system: System, java = false) =>
  detectStores(system, ROOT, { java }).stores.map(({ install, uninstall, needsRoot }) => ({
    install: install.map((command) => command.join(' ')),
    uninstall: uninstall.map((command) => command.join(' ')),
    needsRoot,
  }))

test('each distribution gets the root in its own directory', () => {
  for (const [directory, program, anchor, refresh, cleanUp] of [
    [
      '/etc/pki/ca-trust/source/anchors',
      'update-ca-trust',
      'pem',
      'update-ca-trust extract',
      'update-ca-trust extract',
    ],
    [
      '/usr/local/share/ca-certificates',
      'update-ca-certificates',
      'crt',
      'update-ca-certificates',
      'update-ca-certificates --fresh',
    ],
    [
      '/etc/ca-certificates/trust-source/anchors',
      'trust',
      'crt',
      'trust extract-compat',
      'trust extract-compat',
    ],
    [
      '/usr/share/pki/trust/anchors',
      'update-ca-certificates',
      'pem',
      'update-ca-certificates',
      'update-ca-certificates --fresh',
    ],
  ] as const)
    assert.deepEqual(commandsOf(createSystem({ paths: [directory], programs: [program] })), [
      {
        install: [`install -m 0644 /data/ca.pem ${directory}/adit-private-root-1a2b3c4d.${anchor}`, refresh],
        uninstall: [`rm -f ${directory}/adit-private-root-1a2b3c4d.${anchor}`, cleanUp],
        needsRoot: true,
      },
    ])
})

test('macOS and Windows change their stores by their own programs', () => {
  assert.deepEqual(commandsOf(createSystem({ platform: 'darwin' })), [
    {
      install: [
        'security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain /data/ca.pem',
      ],
      uninstall: ['security delete-certificate -Z AB12 -t /Library/Keychains/System.keychain'],
      needsRoot: true,
    },
  ])
  assert.deepEqual(commandsOf(createSystem({ platform: 'win32', programs: ['certutil'] })), [
    {
      install: ['certutil -user -addstore Root /data/ca.pem'],
      uninstall: ['certutil -user -delstore Root AB12'],
      needsRoot: false,
    },
  ])
})

test('every database of Firefox and Chromium is found, and one is created for a browser that has none', () => {
  const firefox = '/home/ada/.mozilla/firefox'
  const found = createSystem({
    programs: ['certutil'],
    paths: ['/home/ada/.local/share/pki/nssdb/cert9.db', `${firefox}/a.default/cert9.db`],
    directories: { [firefox]: ['a.default', 'Crash Reports'] },
  })
  const fresh = createSystem({ programs: ['certutil', 'chromium'] })

  assert.deepEqual(
    detectStores(found, ROOT, { java: false }).stores.map(({ name }) => name),
    ['Chromium and Chrome (/home/ada/.local/share/pki/nssdb)', `Firefox (${firefox}/a.default)`],
  )
  assert.equal(commandsOf(fresh)[0]?.install[1], 'certutil -N -d sql:/home/ada/.pki/nssdb --empty-password')
})

test('what cannot be changed is said: an unknown system, no certutil, no Java', () => {
  const system = createSystem({ programs: ['chromium'], paths: [] })

  const { stores, notes } = detectStores(system, ROOT, { java: true })

  assert.deepEqual(stores, [])
  assert.match(notes[0]!, /trust store of this system is unknown/)
  assert.match(notes[1]!, /install libnss3-tools/)
  assert.match(notes[2]!, /keytool was not found/)
})

test('Java is changed on request only', () => {
  const system = createSystem({ platform: 'darwin', programs: ['keytool'] })

  assert.equal(commandsOf(system).length, 1)
  assert.match(commandsOf(system, true)[1]!.install[0]!, /^keytool -importcert -noprompt -cacerts/)
})
