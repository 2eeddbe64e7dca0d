const COLOURS = ['grey', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']

const STYLE = `
:root { color-scheme: light dark; }
body { margin: 0; display: inline-block; padding: 14px; background: light-dark(#f2efe8, #0f0e0d); }
pre { margin: 0; padding: 12px 18px 16px; border: 1px solid light-dark(#dcd8cf, #3a3732); border-radius: 10px;
  background: light-dark(#ffffff, #1b1a18); color: light-dark(#1d1b17, #ece8e0); font: 14px/1.45 "DejaVu Sans Mono", monospace; }
.bold { font-weight: 700; } .dim { opacity: 0.65; } .grey { color: light-dark(#635d52, #a9a294); }
.red { color: light-dark(#b3261e, #ff8a80); } .green { color: light-dark(#17693a, #6fcf97); }
.yellow { color: light-dark(#8a5200, #f0b429); } .blue { color: light-dark(#1f5aa8, #8ab8f5); }
.magenta { color: light-dark(#8a2f8f, #e3a1e6); } .cyan { color: light-dark(#0b6570, #7fd1dc); }
.prompt { opacity: 0.65; }`

/** A page that shows the screen of a terminal, from text with escape sequences for colours. */
export function terminalPage(command: string, screen: string): string {
  const classes = new Set<string>()
  const html = screen
    .trimEnd()
    .split(/(\u001b\[[\d;]*m)/)
    .map((part) => {
      const [, codes] = /^\u001b\[([\d;]*)m$/.exec(part) ?? []
      if (codes !== undefined) {
        for (const code of codes.split(';')) applyCode(classes, Number(code))
        return ''
      }
      return classes.size === 0
        ? escapeHtml(part)
        : `<span class="${[...classes].join(' ')}">${escapeHtml(part)}</span>`
    })
    .join('')
  return `<!doctype html><style>${STYLE}</style><pre><span class="prompt">$</span> ${escapeHtml(command)}\n\n${html}</pre>`
}

/** The codes of SGR (ECMA-48, 8.3.117) that the agent's screen uses. */
function applyCode(classes: Set<string>, code: number): void {
  const clear = (...names: string[]) => {
    for (const name of names) classes.delete(name)
  }
  if (code === 0) classes.clear()
  else if (code === 1) classes.add('bold')
  else if (code === 2) classes.add('dim')
  else if (code === 22) clear('bold', 'dim')
  else if (code === 39) clear(...COLOURS)
  else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) {
    clear(...COLOURS)
    classes.add(COLOURS[code % 10]!)
  }
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
}
