// Positions on the page: the stored ones, fitted to the stage and loosened until names can be read.
// Everything here is computed from its input alone, so the same graph gives the same picture.

const LABEL_HEIGHT = 17;

// Entities far out are drawn nearer, so that one of them does not make all others small.
export function fitted(nodes, width, height) {
  const placed = nodes.filter((node) => node.x !== null);
  const middle = (axis) => placed.reduce((sum, node) => sum + node[axis], 0) / (placed.length || 1);
  const [x0, y0] = [middle("x"), middle("y")];
  const far = (node) => Math.hypot(node.x - x0, node.y - y0);
  const mean = placed.reduce((sum, node) => sum + far(node), 0) / (placed.length || 1) || 1;
  return nodes.map((node, place) => {
    if (node.x === null) return onCircle(place, nodes.length, width, height);
    const pull = 1 / (1 + (0.45 * far(node)) / mean);
    return {
      x: (((node.x - x0) * pull) / mean) * (width / 3),
      y: (((node.y - y0) * pull) / mean) * (height / 3),
    };
  });
}

const onCircle = (place, count, width, height) => {
  const angle = (2 * Math.PI * place) / Math.max(1, count);
  return { x: (Math.cos(angle) * width) / 3, y: (Math.sin(angle) * height) / 3 };
};

// Springs along relationships, repulsion between entities, a pull to where each one began. Those
// that are fixed stay: what a person has found once is not moved about by what is added.
export function settle(points, links, { width, height, fixed = new Set() }) {
  const count = points.length;
  if (count < 2) return;
  const rounds = count > 300 ? 90 : 260;
  const ideal = Math.sqrt((width * height) / count) * 0.8;
  const home = points.map((point) => ({ x: point.x, y: point.y }));
  const degree = points.map(() => 0);
  for (const [a, b] of links) {
    degree[a] += 1;
    degree[b] += 1;
  }
  const moveX = new Float64Array(count);
  const moveY = new Float64Array(count);
  for (let round = 0; round < rounds; round += 1) {
    const heat = (ideal / 2) * (1 - round / rounds) + 0.5;
    moveX.fill(0);
    moveY.fill(0);
    repel(points, ideal, moveX, moveY);
    for (const [a, b] of links) {
      const dx = points[b].x - points[a].x;
      const dy = points[b].y - points[a].y;
      const pull = Math.hypot(dx, dy) / ideal / Math.sqrt(1 + Math.min(degree[a], degree[b]));
      moveX[a] += dx * pull;
      moveY[a] += dy * pull;
      moveX[b] -= dx * pull;
      moveY[b] -= dy * pull;
    }
    for (let one = 0; one < count; one += 1) {
      if (fixed.has(one)) continue;
      moveX[one] += (home[one].x - points[one].x) * 0.04 - points[one].x * 0.06;
      moveY[one] += (home[one].y - points[one].y) * 0.04 - points[one].y * 0.06 * (width / height);
      const length = Math.hypot(moveX[one], moveY[one]) || 1;
      const step = Math.min(length, heat) / length;
      points[one].x += moveX[one] * step;
      points[one].y += moveY[one] * step;
    }
  }
}

function repel(points, ideal, moveX, moveY) {
  for (let a = 0; a < points.length; a += 1) {
    for (let b = a + 1; b < points.length; b += 1) {
      let dx = points[a].x - points[b].x;
      let dy = points[a].y - points[b].y;
      if (dx === 0 && dy === 0) [dx, dy] = [0.01 * (a + 1), 0.01];
      const force = (ideal * ideal) / (dx * dx + dy * dy);
      moveX[a] += dx * force;
      moveY[a] += dy * force;
      moveX[b] -= dx * force;
      moveY[b] -= dy * force;
    }
  }
}

// Stretch the picture to the stage, so that it uses a wide one's width and a tall one's height.
export function filled(points, width, height) {
  const span = (axis) => {
    const values = points.map((point) => point[axis]).sort((a, b) => a - b);
    return [values[0], Math.max(1, values.at(-1) - values[0])];
  };
  const [left, across] = span("x");
  const [top, down] = span("y");
  for (const point of points) {
    point.x = ((point.x - left) / across - 0.5) * width;
    point.y = ((point.y - top) / down - 0.5) * height;
  }
}

// Push boxes of circle and name apart, along the axis on which that takes less of the stage.
export function spread(points, boxes, { aspect, fixed = new Set(), rounds = 80 }) {
  if (points.length > 260) return;
  for (let round = 0; round < rounds; round += 1) {
    let isClear = true;
    for (let a = 0; a < points.length; a += 1) {
      for (let b = a + 1; b < points.length; b += 1) {
        const dx = points[b].x - points[a].x;
        const dy = points[b].y - points[a].y;
        const overX = (boxes[a].width + boxes[b].width) / 2 + 6 - Math.abs(dx);
        const overY = (boxes[a].height + boxes[b].height) / 2 + 4 - Math.abs(dy);
        if (overX <= 0 || overY <= 0) continue;
        isClear = false;
        const [axis, over, sign] =
          overY * aspect < overX ? ["y", overY, dy < 0 ? -1 : 1] : ["x", overX, dx < 0 ? -1 : 1];
        const shares = fixed.has(a) ? [0, 1] : fixed.has(b) ? [1, 0] : [0.5, 0.5];
        if (fixed.has(a) && fixed.has(b)) continue;
        points[a][axis] -= sign * over * shares[0] * 0.6;
        points[b][axis] += sign * over * shares[1] * 0.6;
      }
    }
    if (isClear) return;
  }
}

export const boxOf = (radius, labelWidth) => ({
  width: Math.max(2 * radius, labelWidth),
  height: 2 * radius + LABEL_HEIGHT,
});
