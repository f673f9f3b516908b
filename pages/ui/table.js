// A table of plain texts; the first cell of a row opens it.

const cell = (tag, text, className) => {
  const made = document.createElement(tag)
  made.textContent = text
  if (className) made.className = className
  return made
}

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".table")
  const table = document.createElement("table")
  const head = document.createElement("tr")
  data.columns.forEach(column => head.appendChild(cell("th", column.title, column.kind)))
  table.appendChild(document.createElement("thead")).appendChild(head)
  const body = table.appendChild(document.createElement("tbody"))
  for (const row of data.rows) {
    const line = document.createElement("tr")
    row.cells.forEach((text, index) => {
      if (index) return line.appendChild(cell("td", text, data.columns[index].kind))
      const first = document.createElement("td")
      const open = cell("button", text)
      open.type = "button"
      open.onclick = () => setTriggerValue("open", row.id)
      first.appendChild(open)
      if (row.note) first.appendChild(cell("span", row.note, "note"))
      return line.appendChild(first)
    })
    body.appendChild(line)
  }
  root.replaceChildren(table)
}
