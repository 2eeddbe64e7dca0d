import { Button, Dialog } from './kit/index.ts'
import { pages } from './pages.ts'

const KEYS = [
  ['Ctrl K', 'search everything'],
  ['/', 'search on this page'],
  ['j / k', 'next, previous row; Enter opens it'],
  ['n', 'create, on a list'],
  ['e', 'edit, on a detail page'],
  ['Esc', 'close a dialog, leave a field'],
  ['?', 'this help'],
] as const

/** Lists the keyboard shortcuts. */
export function Help({ onClose }: { onClose: () => void }) {
  const reachable = pages.filter(({ key }) => key !== undefined)
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      <dl className="keys">
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <h3>Go to page</h3>
      <dl className="keys pages">
        {reachable.map(({ key, title }) => (
          <div key={key}>
            <dt>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd>{title}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
